-- The log of a document whose records have keys (`x-key`), or whose bytes are limited, is counted. The field "x" of its
-- meta is "<epoch> <base> <holes> <bytes>": records up to the offset `base` were removed from its beginning, and after
-- it `holes` records were replaced by newer ones of their key; `bytes` of the values, empty if unknown.
-- The counts are right only if no process of an earlier version, and no expiry, has removed records meanwhile: then the
-- length of the stream matches them. Otherwise the log begins with its first record.
-- Why: docs/internals/decisions/0108-logs-rules-and-keys.md
local function readCounts (log, counts, epoch, last)
  local of, base, holes, bytes = string.match(counts or '', '^(%S+) (%d+) (%d+) (%d*)$')
  if of ~= epoch then return nil, false end
  base, holes = tonumber(base), tonumber(holes)
  if redis.call('XLEN', log) + holes ~= last - base then return nil, true end
  return base, true, holes, tonumber(bytes)
end
