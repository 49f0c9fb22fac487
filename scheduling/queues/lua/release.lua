-- Give a lock back, if it is still ours.
--
-- KEYS[1]  lock: STRING, the token of its holder
-- ARGV[1]  our token
--
-- Returns 1 when it was ours and is free now, 0 when it had run out or belongs to another node.

if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
