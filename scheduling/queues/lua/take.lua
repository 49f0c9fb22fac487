-- Make due tasks of one topic ready, then give out the oldest ready ones.
--
-- KEYS[1]  future: ZSET, member = task id, score = due in epoch milliseconds
-- KEYS[2]  ready: LIST of task ids, head = next
-- ARGV[1]  now in epoch milliseconds
-- ARGV[2]  how many may be made ready at most: bounds the time Redis stands still, and the stack of unpack
-- ARGV[3]  how many may be given out at most; 0 only makes ready
-- ARGV[4]  channel, ARGV[5] due, ARGV[6] message; optional: published if something became ready, or if nothing that
--          waits is due before ARGV[5]
--
-- Returns {moved, next_due, id, id, ...}: how many became ready, the score of the next one to come as a string
-- ('' when there is none) and the ids given out as strings, because numbers are exact to 2^53 only.
-- A member that is no id is left where it is, behind everything that has a time.

local ids = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
  if string.find(member, '^%d+$') then
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
local answer = {#ids, head[2] or ''}
local wanted = tonumber(ARGV[3])
local given = wanted > 0 and redis.call('LPOP', KEYS[2], wanted) or {}
for position = 1, #given do
  answer[position + 2] = given[position]
end
return answer
