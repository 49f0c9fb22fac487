-- Take a lock over from a holder that should have given it back, unless it has changed hands meanwhile.
--
-- KEYS[1]  lock: STRING, the token of its holder
-- ARGV[1]  the holder's token
-- ARGV[2]  our token
-- ARGV[3]  how long we hold it at most, in milliseconds
--
-- Returns 1 when it is ours now, 0 when somebody else was faster.

if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 1
end
return 0
