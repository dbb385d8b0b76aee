-- Notes who holds users, members and documents, and says who is to tell the business services of it.
--
-- An entry is `<told>|<teller>|<holders>`. Holders are incarnations of workers, each maybe with how many connections it has (`=<count>`). `told`
-- is what the services know: 1 somebody holds it, 0 nobody does. Where that is no longer so, the holder whose change made it so becomes
-- the teller, until it says what it has told; meanwhile nobody else tells anything of this entry, so the services hear of changes in their order.
--
-- KEYS  for each change: the hash of its entry
-- ARGV  1 the holder (an incarnation)  2 '1' there are services, '0' there are none: they know what is so
--       3... a change in one, because arguments are what a call costs: '+' it holds it now, '-' no more, '=' as before; what the holder
--       has told ('1', '0', or '.' nothing; also what is taken for told where there is no entry); then nothing for a user, `:<uid>` for
--       a member, `=<count>` or nothing for a document. The field of an entry is the uid of a member, '' for the others
-- Returns a character for each change, what the holder is to tell: '1', '0', or '.' nothing. A teller that did not say what came of it is told the state again.
local holder, services = ARGV[1], ARGV[2] == '1'

local function hold(key, argument)
  local change, told_now, kind = string.match(argument, '^(.)(.)(.?)')
  local field, count = '', ''
  if kind == ':' then field = string.sub(argument, 4) elseif kind == '=' then count = string.sub(argument, 3) end
  -- mostly nobody else holds it: then one look at the hash does, which is a list to go through where the document has some hundred members
  if change == '+' and count == '' then
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
      if string.match(name, '^[^=]+') ~= holder then kept[#kept + 1] = name end
    end
    if change == '+' then kept[#kept + 1] = holder .. count end
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
