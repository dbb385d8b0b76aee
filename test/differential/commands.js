import { createKeys } from '../../src/redis/keys.js'
import { ALL, CHANNELS, GUIDS, IDS, KEYS, NUMBERS, QUEUES, UIDS } from './world.js'

const { workers: WORKERS } = createKeys()

/**
 * Commands outside scripts, with the options that inkcast, its libraries and its tests use, and with mistakes.
 *
 * @typedef {import('./draw.js').Draw} Draw
 * @typedef {import('./scripts-of-documents.js').World} World
 * @typedef {{ args: string[], unordered?: Unordered, alone?: boolean }} Command
 * @typedef {'list' | 'pairs' | 'scan' | 'info' | 'hello' | 'lifetime' | 'unsubscribed'} Unordered how its
 *   reply is compared
 * @typedef {(draw: Draw, world: World) => string[]} Args without the command's name
 */

const FIELDS = [
  'e', 'o', 'g', 'k', 'x', 'b', 't', 's:t/0', '', 'f', 'a', 'u', 'p', 'v', 'n', 'c', 'total', 'freed', 'failing', 'l:one', 'b:one',
  'c:one', ...IDS, ...NUMBERS, ...QUEUES, 'k1', 'ada'
]
const MEMBERS = [...NUMBERS, ...UIDS, 'ada\0c1', 'ada\0c2', 'b\xc3\xb6b\0c1', '1.100', '2.200', '']

/** @param {Draw} draw */
const value = (draw) => draw.mostly(0.3, () => draw.pick(['0', '1', '5', '17', 'E1', 'text', '{"a":1}', '1 1', '3 2', '1.100|99|']))
/** @param {Draw} draw */
const integer = (draw) => draw.mostly(0.1, () => String(draw.int(-3, 20)))
/** @param {Draw} draw */
const score = (draw) =>
  draw.mostly(
    0.15, () => draw.pick([String(draw.int(0, 9)), '1.5', '1700000000000.25', '1e17', '-3', 'inf', '0.1', '1e-7', '123456789012345678'])
  )
/** @param {Draw} draw */
const bound = (draw) => draw.mostly(0.15, () => draw.pick(['-inf', '+inf', '(3', '3', '(1.5', '0', '1700000000000']))
/** @param {Draw} draw */
const lex = (draw) => draw.mostly(0.15, () => draw.pick(['-', '+', '[ada', '(ada\0', '[b', '(1', '[ada\0c2']))
/** @param {Draw} draw */
const entryId = (draw) =>
  draw.mostly(
    0.15, () => draw.pick(['-', '+', `${draw.int(0, 9)}-${draw.int(0, 1)}`, `(${draw.int(0, 9)}-0`, String(draw.int(0, 9)), '5-'])
  )
/** @param {Draw} draw @param {string[]} options @param {number} [share] */
function option (draw, options, share = 0.4) {
  if (!draw.chance(share)) return []
  const word = draw.pick(options)
  return [draw.chance(0.1) ? word.toLowerCase() : word]
}
/** @param {Draw} draw @param {number} [share] */
const limit = (draw, share = 0.3) => draw.chance(share) ? ['LIMIT', integer(draw), integer(draw)] : []
/** @param {Draw} draw */
const fields = (draw) => draw.list(1, 3, () => draw.pick(FIELDS))
/** A lifetime beyond 2^53 ms is not exact in the store. */
const TOO_LONG = '9007199254740993'
/** Lifetimes that the calls of scripts have. */
const LIFETIMES = ['5', '60', '100', '600', '1000', '3600']
/** @param {Draw} draw */
const seconds = (draw) => {
  const text = draw.mostly(0.1, () => draw.pick(['1', '2', '60', '1000']))
  return text === TOO_LONG ? '60' : text
}
/** @param {Draw} draw @param {number} [most] */
const channels = (draw, most = 2) => draw.list(1, most, () => draw.pick(CHANNELS))

/**
 * Commands with a key, by the type at the key.
 * @type {Record<keyof typeof KEYS | 'any', Record<string, Args>>}
 */
export const KEYED = {
  string: {
    GET: () => [],
    SET: (draw) => [
      value(draw), ...draw.chance(0.4) ? ['EX', seconds(draw)] : [],
      ...option(draw, ['NX', 'GET'], 0.3), ...option(draw, ['NX', 'GET', 'EX', 'NY'], 0.05)
    ]
  },
  hash: {
    HGET: (draw) => [draw.pick(FIELDS)],
    HSET: (draw) => draw.list(1, 3, () => [draw.pick(FIELDS), value(draw)]).flat(),
    HSETNX: (draw) => [draw.pick(FIELDS), value(draw)],
    HMGET: fields,
    HDEL: fields,
    HGETALL: () => [],
    HVALS: () => [],
    HKEYS: () => [],
    HLEN: () => [],
    HEXISTS: (draw) => [draw.pick(FIELDS)],
    HINCRBY: (draw) => [draw.pick(FIELDS), integer(draw)],
    HSCAN: (draw) => ['0', ...draw.pick([[], ['COUNT', '1000'], ['COUNT', '0'], ['COUNT']])]
  },
  zset: {
    ZADD: (draw) => [...option(draw, ['XX', 'GT']), ...draw.list(1, 2, () => [score(draw), draw.pick(MEMBERS)]).flat()],
    ZREM: (draw) => draw.list(1, 3, () => draw.pick(MEMBERS)),
    ZSCORE: (draw) => [draw.pick(MEMBERS)],
    ZCARD: () => [],
    ZRANGE: (draw) => [integer(draw), integer(draw), ...option(draw, ['WITHSCORES', 'WITHOUT'])],
    ZREVRANGE: (draw) => [integer(draw), integer(draw), ...option(draw, ['WITHSCORES', 'REV'])],
    ZRANGEBYSCORE: (draw) => [bound(draw), bound(draw), ...option(draw, ['WITHSCORES']), ...limit(draw)],
    ZREMRANGEBYSCORE: (draw) => [bound(draw), bound(draw)],
    ZREMRANGEBYRANK: (draw) => [integer(draw), integer(draw)],
    ZPOPMIN: () => []
  },
  zset0: {
    ZADD: (draw) => [...option(draw, ['XX']), ...draw.list(1, 4, () => ['0', draw.pick(MEMBERS)]).flat()],
    ZREM: (draw) => draw.list(1, 3, () => draw.pick(MEMBERS)),
    ZRANGEBYLEX: (draw) => [lex(draw), lex(draw), ...limit(draw)]
  },
  list: {
    RPUSH: (draw) => draw.list(1, 3, () => draw.pick(['1.100', '0.5', value(draw)])),
    LPOP: () => [],
    LRANGE: (draw) => [integer(draw), integer(draw)]
  },
  set: {
    SADD: (draw) => draw.list(1, 3, () => draw.pick(GUIDS)),
    SREM: (draw) => draw.list(1, 3, () => draw.pick(GUIDS)),
    SMEMBERS: () => []
  },
  stream: {
    XADD: (draw, { ms }) => [
      ...draw.pick([[], [], ['MAXLEN', integer(draw)], ['MAXLEN', '~', integer(draw)]]),
      draw.mostly(
        0.1, () => draw.pick(['*', `${draw.int(0, 9)}-0`, `${ms}-*`, `${draw.int(0, 9)}-*`, String(draw.int(1, 9)), `${ms + 5}-3`])
      ),
      'v', envelopeLike(draw), ...draw.pick([[], [], ['k', 'k1'], ['odd']])
    ],
    XLEN: () => [],
    XRANGE: (draw) => [entryId(draw), entryId(draw), ...draw.pick([[], ['COUNT', integer(draw)], ['COUNT'], ['LIMIT', '1']])],
    XREVRANGE: (draw) => [entryId(draw), entryId(draw), ...draw.pick([[], ['COUNT', integer(draw)]])],
    XDEL: (draw) => draw.list(1, 2, () => entryId(draw)),
    XTRIM: (draw) => draw.pick([['MINID', entryId(draw)], ['NEAR', '3']])
  },
  any: {
    DEL: (draw) => draw.list(0, 2, () => draw.pick(ALL)),
    UNLINK: (draw) => draw.list(0, 2, () => draw.pick(ALL)),
    EXISTS: (draw) => draw.list(0, 2, () => draw.pick(ALL)),
    EXPIRE: (draw) => [seconds(draw), ...option(draw, ['GT', 'ZZ'])],
    TTL: () => [],
    PTTL: () => [],
    TYPE: () => []
  }
}

/** @param {Draw} draw */
const envelopeLike = (draw) => draw.mostly(0.1, () => draw.pick(['\0\0\0\x02{}x', '\0\0\0\x02{}yy']))

/**
 * Commands without a key.
 * @type {Record<string, { args: Args, unordered?: Unordered, alone?: boolean }>}
 */
export const UNKEYED = {
  PING: { args: (draw) => draw.pick([[], ['word'], ['two', 'words']]) },
  TIME: { args: () => [] },
  KEYS: {
    args: (draw) => [draw.pick(['*', 'inkcast:{d:*', '*:lo[a-g]', '*\\}:log', '?nkcast*', 'inkcast:{w[^x]*', '', '[', '*[', 'x\\'])],
    unordered: 'list'
  },
  FLUSHALL: { args: (draw) => draw.pick([[], ['NOW']]) },
  PUBLISH: { args: (draw) => [draw.pick(CHANNELS), value(draw)] },
  SPUBLISH: { args: (draw) => [draw.pick(CHANNELS), value(draw)] },
  SUBSCRIBE: { args: (draw) => channels(draw), alone: true },
  PSUBSCRIBE: { args: (draw) => draw.list(1, 2, () => draw.pick(['inkcast:*', '*everyone', '*{d:doc}*', 'x*'])), alone: true },
  SSUBSCRIBE: { args: (draw) => channels(draw, 3), alone: true },
  UNSUBSCRIBE: { args: (draw) => draw.chance(0.4) ? [] : channels(draw, 1), unordered: 'unsubscribed', alone: true },
  PUNSUBSCRIBE: { args: (draw) => draw.chance(0.4) ? [] : ['inkcast:*'], unordered: 'unsubscribed', alone: true },
  SUNSUBSCRIBE: { args: (draw) => draw.chance(0.4) ? [] : channels(draw, 1), unordered: 'unsubscribed', alone: true },
  PUBSUB: {
    args: (draw) => draw.pick([['NUMSUB', ...channels(draw)], ['NUMSUB'], ['SHARDNUMSUB', ...channels(draw)], ['NONE']]),
    unordered: 'list'
  },
  HELLO: {
    args: (draw) => draw.pick([['3'], ['3'], ['2'], [], ['3', 'SETNAME', 'me'], ['4'], ['x'], ['3', 'SETNAME']]), unordered: 'hello',
    alone: true
  },
  RESET: { args: () => [], alone: true },
  CLIENT: {
    args: (draw) => draw.pick([['SETNAME', 'a-name'], ['SETNAME', 'a name'], ['SETINFO', 'LIB-NAME', 'x'], ['NONE']])
  },
  SCRIPT: { args: (draw) =>
    draw.pick([['EXISTS', 'f'.repeat(40)], ['EXISTS'], ['LOAD', 'return 1'], ['LOAD', 'return'], ['LOAD', 'retrn 1'], ['NONE']]) },
  EVALSHA: { args: (draw) =>
    draw.pick([['f'.repeat(40), '0'], ['x', '0'], ['f'.repeat(40), '-1'], ['f'.repeat(40), '2', 'a'], ['f'.repeat(40), 'x']]) },
  EVAL: {
    args: (draw, { ms }) => draw.pick([
      ['return {1, 2.9, -2.9, "a", true, false, nil, 3}', '0'],
      ['return {KEYS[1], ARGV[1], #KEYS, #ARGV}', '1', draw.pick(ALL), draw.hostile()],
      ['return redis.call("GET", KEYS[1])', '1', draw.pick(ALL)],
      ['return redis.pcall("HGET", KEYS[1], "e")', '1', draw.pick(ALL)],
      ['return redis.call("TIME")', '0'],
      ['return {err = "MINE an error"}', '0'],
      ['return {ok = "FINE"}', '0'],
      ['return redis.error_reply("without a code")', '0'],
      ['return tonumber(ARGV[1])', '0', draw.hostile()],
      ['return string.format("%.0f", tonumber(ARGV[1]) or -1)', '0', draw.hostile()],
      ['return ARGV[1] .. 1 .. 1.5 .. 1e15', '0', draw.hostile()],
      [
        'return redis.call("SET", KEYS[1], ARGV[1] + 0)', '1', draw.pick(KEYS.string),
        draw.pick(['1', '1.5', String(ms), '1e16', '0.1', '-7', '123456789.125'])
      ],
      ['return redis.call("NONE")', '0'],
      ['return redis.call()', '0'],
      ['return redis.call("GET", {})', '0'],
      ['return 1', '5'], ['return', '0'], ['return 1', 'x'], ['return 1', '-1'], ['return nothing.x', '0']
    ])
  },
  INFO: { args: (draw) => draw.pick([['replication'], ['stats'], ['server'], ['REPLICATION'], ['none']]), unordered: 'info' },
  NONE: { args: (draw) => [draw.hostile()] }
}

/** @param {Draw} draw @param {World} world @returns {Command} */
export function drawCommand (draw, world) {
  if (draw.chance(0.3)) {
    const name = draw.pick(Object.keys(UNKEYED))
    // rarely: each empties or ends what the sequence has made
    if ((name === 'FLUSHALL' || name === 'RESET') && draw.chance(0.8)) return drawCommand(draw, world)
    const { args, unordered, alone } = UNKEYED[name]
    return { args: mistaken(draw, [name, ...args(draw, world)]), unordered, alone }
  }
  const type = /** @type {keyof typeof KEYED} */ (draw.pick(Object.keys(KEYED)))
  const name = draw.pick(Object.keys(KEYED[type]))
  const others = type === 'zset' ? ALL.filter((key) => !KEYS.zset0.includes(key)) : type === 'zset0' ? KEYS.hash : ALL
  const key = draw.pick(type === 'any' || draw.chance(0.1) ? others : KEYS[type])
  // owners are JSON of inkcast, of which the store reads no other forms that Redis' cjson does, such as 0x10
  if (key === WORKERS.owners && ['HSET', 'HSETNX', 'HINCRBY'].includes(name)) return drawCommand(draw, world)
  return { args: mistaken(draw, [name, key, ...KEYED[type][name](draw, world)]), unordered: UNORDERED[name] }
}

/** @type {Record<string, Unordered>} */
const UNORDERED = { HGETALL: 'pairs', HVALS: 'list', HKEYS: 'list', SMEMBERS: 'list', HSCAN: 'scan', TTL: 'lifetime', PTTL: 'lifetime' }

/** Scripts that write owners. */
const OWNING = ['claim', 'renew']

/**
 * @param {Draw} draw
 * @param {string[]} args
 * @returns {string[]} rarely with an argument too many, too few or another one
 */
export function mistaken (draw, args) {
  if (!draw.chance(0.03)) return args
  const at = draw.int(1, Math.max(1, args.length - 1))
  // another cursor is free to begin anywhere, and the store pops one only
  const most = ['HSCAN', 'LPOP', 'ZPOPMIN'].includes(args[0]) ? 2 : OWNING.includes(args[0]) ? 3 : 4
  const more = draw.hostile()
  const other = draw.hostile()
  const mistakes = [
    [args[0]], args.slice(0, -1), [...args, more],
    args.with(at < args.length ? at : 0, other === TOO_LONG && LIFETIMES.includes(args[at]) ? '60' : other)
  ]
  // of an entry without its envelope Lua makes a list with a hole
  if (args[0] === 'publish') mistakes.splice(1, 1)
  return draw.pick(mistakes.slice(0, most).filter(({ length }) => length > 0))
}
