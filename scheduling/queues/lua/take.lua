-- Promote due hints of one topic, then pop the oldest ready ones.
--
-- KEYS[1]  future: ZSET, member = task id in 11 characters, score = due in epoch milliseconds
-- KEYS[2]  ready: LIST of task ids, head = next
-- ARGV[1]  now in epoch milliseconds
-- ARGV[2]  how many are promoted at most: bounds the time Redis is blocked, and the stack of unpack
-- ARGV[3]  how many are popped at most; 0 only promotes
-- ARGV[4]  channel, ARGV[5] due, ARGV[6] message; optional: published if a hint was promoted, or if no other
--          hint is due before ARGV[5]
--
-- Returns {moved, next_due, id, id, ...}: how many were promoted, the score of the next hint as a string ('' without
-- one) and the popped ids as they are stored.
-- A member that is no id stays in the set, behind all others.

local ids = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
  if string.find(member, '^[%w_-]+$') and #member == 11 then
    ids[#ids + 1] = member
  else
    redis.call('ZADD', KEYS[1], '+inf', member)
  end
end
if #ids > 0 then
  redis.call('RPUSH', KEYS[2], unpack(ids))
  redis.call('ZREM', KEYS[1], unpack(ids))
end

local head = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if ARGV[4] and (#ids > 0 or (head[2] and tonumber(ARGV[5]) <= tonumber(head[2]))) then
  redis.call('PUBLISH', ARGV[4], ARGV[6])
end
local reply = {#ids, head[2] or ''}
local wanted = tonumber(ARGV[3])
local popped = wanted > 0 and redis.call('LPOP', KEYS[2], wanted) or {}
for position = 1, #popped do
  reply[position + 2] = popped[position]
end
return reply
