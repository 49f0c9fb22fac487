-- Take over a lock from a holder that should have released it, unless the holder has changed.
--
-- KEYS[1]  lock: STRING, token of its holder
-- ARGV[1]  the holder's token
-- ARGV[2]  our token
-- ARGV[3]  how long we hold it at most, in milliseconds
--
-- Returns 1 on success, 0 if the holder has changed.

if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 1
end
return 0
