-- Release a lock if we still hold it.
--
-- KEYS[1]  lock: STRING, the token of its holder
-- ARGV[1]  our token
--
-- Returns 1 if it was released, 0 if it had expired or belongs to another node.

if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
