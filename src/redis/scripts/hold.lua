-- Records which workers hold users, members and documents, and decides which of them informs the business services.
--
-- An entry is `<told>|<teller>|<holders>`. Holders are incarnations of workers, separated by commas. `told` is the state
-- last reported to the services: 1 held, 0 not held. When a change makes it outdated, its holder becomes the teller until
-- it confirms the report. Meanwhile no other holder reports anything about this entry, so the services receive the
-- changes in their order.
--
-- KEYS  for each change: the hash of its entry
-- ARGV  1 the holder (an incarnation)  2 '1' there are services, '0' there are none: `told` follows the state
--       3... one change each, in a single argument, because the cost of a call grows with its arguments: '+' held from
--       now on, '-' no longer held, '=' unchanged; then the state that the holder has reported ('1', '0', or '.' for
--       none; also assumed as reported if there is no entry); then `:<uid>` for a member, nothing for a user or a
--       document. The field of an entry is the uid for a member, '' for the others
-- Returns one character per change, the state that the holder must report: '1', '0', or '.' for none. A teller that did
-- not confirm receives the state again.
local holder, services = ARGV[1], ARGV[2] == '1'

local function hold(key, argument)
  local change, told_now, kind = string.match(argument, '^(.)(.)(.?)')
  local field = kind == ':' and string.sub(argument, 4) or ''
  -- usually there is no other holder, which one command shows; a document with hundreds of members has a long list
  if change == '+' then
    local known = not services or told_now == '1'
    if redis.call('HSETNX', key, field, (known and '1||' or '0|' .. holder .. '|') .. holder) == 1 then return known and '.' or '1' end
  end
  local before = redis.call('HGET', key, field)
  local told, teller, holders = '0', '', ''
  if before then told, teller, holders = string.match(before, '^(%d)|([^|]*)|(.*)$') end
  if told_now ~= '.' and (teller == holder or not before) then told, teller = told_now, '' end
  if change ~= '=' then
    local kept = {}
    for name in string.gmatch(holders, '[^,]+') do
      if name ~= holder then kept[#kept + 1] = name end
    end
    if change == '+' then kept[#kept + 1] = holder end
    holders = table.concat(kept, ',')
  end
  local held = holders == '' and '0' or '1'
  local answer = '.'
  if not services and (teller == holder or teller == '') then
    told, teller = held, ''
  elseif teller == holder or (teller == '' and held ~= told) then
    teller, answer = holder, held
  end
  local after = told .. '|' .. teller .. '|' .. holders
  if after == '0||' then
    if before then redis.call('HDEL', key, field) end
  elseif after ~= before then
    redis.call('HSET', key, field, after)
  end
  return answer
end

local answers = {}
for i, key in ipairs(KEYS) do answers[i] = hold(key, ARGV[2 + i]) end
return table.concat(answers)
