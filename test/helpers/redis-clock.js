/** Where the shift is kept, ms: all connections to a Redis see it. */
const SHIFT = 'test:clock-shift'

/** `redis.call('TIME')` in a script answers a shifted time. */
const SHIFTED = `
local unshifted = redis
local redis = setmetatable({
  call = function (name, ...)
    if name ~= 'TIME' then return unshifted.call(name, ...) end
    local time = unshifted.call('TIME')
    local shift = tonumber(unshifted.call('GET', '${SHIFT}') or 0)
    local ms = time[1] * 1000 + math.floor(time[2] / 1000) + shift
    return { string.format('%.0f', math.floor(ms / 1000)), string.format('%.0f', (ms % 1000) * 1000 + time[2] % 1000) }
  end
}, { __index = unshifted })
`

/**
 * Makes the scripts of a connection read the time of a clock that the test sets; only with a single Redis. Scripts get
 * a prefix on this connection; those of src/ are unchanged. Entry ids that Redis assigns keep the real time.
 * @param {import('../../src/redis/client.js').RedisConnection} redis
 */
export function readShiftedTime ({ client }) {
  const scripts = /** @type {Record<string, { lua: string }>} */ (/** @type {any} */ (client).scriptsSet)
  for (const [name, { lua }] of Object.entries(scripts)) client.defineCommand(name, { lua: SHIFTED + lua })
}

/**
 * Sets the clock of Redis: for scripts (`readShiftedTime`), and for the expiry of keys.
 * @param {import('../../src/redis/client.js').RedisConnection} redis
 * @param {number} ms forward, or back if negative
 */
export async function stepClock ({ client }, ms) {
  await client.eval(`
    local step = tonumber(ARGV[1])
    redis.call('INCRBY', KEYS[1], ARGV[1])
    for _, key in ipairs(redis.call('KEYS', '*')) do
      local left = redis.call('PTTL', key)
      if left > 0 then redis.call('PEXPIRE', key, string.format('%.0f', math.max(0, left - step))) end
    end
  `, 1, SHIFT, ms)
}
