-- The begin of every name, for names that a script makes by itself: REDIS_PREFIX and a colon, in front of the hash tag
-- of each key (keys.js).
local function start ()
  return string.match(KEYS[1], '^[^{]*')
end
