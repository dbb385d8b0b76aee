import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { request, storeClient, testStore } from '../../helpers/store-client.js'
import { waitFor } from '../../helpers/wait.js'

const MEGABYTE = 1024 * 1024
const RESTORED = [['GET', 'text'], ['LRANGE', 'list', '0', '-1'], ['HGETALL', 'hash'], ['SMEMBERS', 'set'],
  ['ZRANGE', 'zset', '0', '-1', 'WITHSCORES'], ['XRANGE', 'stream', '-', '+'], ['PTTL', 'text'],
  ['XADD', 'stream', '5-1', 'a', 'b'], ['INFO', 'replication']]

/** Redis has these, and nothing here needs them. */
const LACKED = [
  'MULTI', 'WAIT 1 0', 'SELECT 0', 'AUTH word', 'CONFIG GET maxmemory', 'INCR n', 'GETDEL k', 'SCRIPT FLUSH', 'CLIENT INFO',
  'PUBSUB CHANNELS',
  'SET k v XX', 'SET k v PX 5', 'SET k v KEEPTTL', 'EXPIRE k 5 NX', 'HSCAN h 0 MATCH *', 'LPOP l 1', 'ZPOPMIN z 1', 'ZADD z NX 1 m',
  'ZADD z CH 1 m',
  'ZADD z XX GT 1 m', 'ZRANGE z 0 1 REV', 'ZRANGE z - + BYLEX', 'ZRANGEBYLEX z - + WITHSCORES', 'XADD s NOMKSTREAM * a b',
  'XADD s MAXLEN = 5 * a b',
  'XADD s MAXLEN ~ 5 LIMIT 1 * a b', 'XTRIM s MAXLEN 5', 'XTRIM s MINID ~ 5', 'CLIENT KILL TYPE normal', 'CLIENT KILL ID 1 SKIPME no',
  'CLIENT LIST TYPE normal', 'CLIENT PAUSE 5 WRITE', 'HELLO 3 AUTH default word', 'FLUSHALL ASYNC'
]

/** @param {ReturnType<typeof storeClient>} client */
async function fill (client) {
  await client.ask('SET', 'text', '\x00\xff', 'EX', '5')
  await client.ask('RPUSH', 'list', 'a', 'b')
  await client.ask('HSET', 'hash', 'a', '1', 'b', '2')
  await client.ask('SADD', 'set', 'a', 'b')
  await client.ask('ZADD', 'zset', '2', 'a', '1', 'b', 'inf', 'c')
  await client.ask('XADD', 'stream', '5-1', 'a', 'b')
  await client.ask('XADD', 'stream', '6-1', 'a', 'c')
  await client.ask('XDEL', 'stream', '6-1')
}

/** @param {ReturnType<typeof storeClient>} client @param {string} field */
const infoOf = async (client, field) => new RegExp(`^${field}:(.*?)\r?$`, 'm').exec(await client.ask('INFO'))?.[1]

describe('the state of a store', () => {
  it('is the same after a snapshot was restored, also in another store', async (t) => {
    const { store, client } = testStore(t)
    const one = client()
    await fill(one)
    const before = []
    for (const args of RESTORED) before.push(await one.ask(...args))
    const snapshot = structuredClone(store.snapshot())
    await one.ask('FLUSHALL')
    await one.ask('SET', 'other', '1')
    const other = testStore(t)
    for (const restored of [store, other.store]) {
      restored.restore(snapshot)
      const again = storeClient(restored.connect())
      for (const [i, args] of RESTORED.entries()) assert.equal(await again.ask(...args), before[i], args.join(' '))
    }
  })

  it('is not changed through a snapshot', async (t) => {
    const { store, client } = testStore(t)
    const one = client()
    await fill(one)
    const snapshot = store.snapshot()
    store.restore(snapshot)
    await one.ask('HSET', 'hash', 'a', 'changed')
    store.restore(snapshot)
    assert.match(await one.ask('HGET', 'hash', 'a'), /1\r\n$/)
  })

  it('is empty after a restart, with other ids, and the connections end', async (t) => {
    const { store, client } = testStore(t)
    const one = client()
    await fill(one)
    await one.ask('SCRIPT', 'LOAD', 'return 1')
    const ids = [await infoOf(one, 'run_id'), await infoOf(one, 'master_replid')]
    store.restart()
    await one.closed
    const again = client()
    assert.equal(store.keyspace.size, 0)
    assert.equal(await again.ask('SCRIPT', 'EXISTS', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db'), '*1\r\n:0\r\n')
    const others = [await infoOf(again, 'run_id'), await infoOf(again, 'master_replid')]
    for (const [i, id] of others.entries()) {
      assert.match(String(id), /^[\da-f]{40}$/)
      assert.notEqual(id, ids[i])
    }
  })

  it('costs nothing when all that was written is removed: each type counts its bytes', async (t) => {
    const { store, client } = testStore(t)
    const one = client()
    for (const remove of [
      () => one.ask('FLUSHALL'),
      () => one.ask('DEL', 'text', 'list', 'hash', 'set', 'zset', 'stream'),
      async () => {
        await one.ask('HDEL', 'hash', 'a', 'b')
        await one.ask('SREM', 'set', 'a', 'b')
        for (let i = 0; i < 2; i++) await one.ask('LPOP', 'list')
        await one.ask('ZREM', 'zset', 'a', 'b')
        await one.ask('ZPOPMIN', 'zset')
        await one.ask('XTRIM', 'stream', 'MINID', '7')
        await one.ask('SET', 'text', '')
        await one.ask('DEL', 'text', 'stream')
      }
    ]) {
      await fill(one)
      await one.ask('HSET', 'hash', 'a', 'longer')
      assert.ok(store.keyspace.bytes > 500)
      await remove()
      assert.equal(store.keyspace.bytes, 0)
      assert.equal(store.keyspace.size, 0)
    }
  })
})

describe('keys that expire', () => {
  it('are removed by the sweep, though nothing touches them', async (t) => {
    const { clock, store, client } = testStore(t)
    const one = client()
    for (let i = 0; i < 5000; i++) one.stream.write(request('SET', `k${i}`, 'v', 'EX', '1'))
    await one.ask('SET', 'stays', 'v')
    assert.equal(store.keyspace.size, 5001)
    clock.advance(1000)
    assert.equal(store.keyspace.size, 5001)
    clock.advance(2000)
    assert.equal(store.keyspace.size, 1)
    assert.equal(await infoOf(one, 'expired_keys'), '5000')
  })

  it('are not listed, but are there again if nothing has touched them and the clock is set back', async (t) => {
    const { clock, client } = testStore(t)
    const one = client()
    await one.ask('SET', 'key', 'v', 'EX', '1')
    clock.step(1500)
    assert.equal(await one.ask('KEYS', '*'), '*0\r\n')
    clock.step(-1000)
    assert.equal(await one.ask('KEYS', '*'), '*1\r\n$3\r\nkey\r\n')
  })

  it('follow the wall clock: it decides at the moment of a command, and a script has one moment', async (t) => {
    const { clock, client } = testStore(t)
    const one = client()
    await one.ask('SET', 'key', 'v', 'EX', '1')
    clock.step(1000)
    assert.equal(await one.ask('PTTL', 'key'), ':0\r\n')
    clock.step(1)
    assert.equal(await one.ask('GET', 'key'), '$-1\r\n')
    await one.ask('SET', 'key', 'v', 'EX', '1')
    clock.step(-5000)
    assert.equal(await one.ask('PTTL', 'key'), ':6000\r\n')
  })
})

describe('bounds', () => {
  it('no memory: what takes more is refused, what frees some is not, and a script that has written goes on', async (t) => {
    const { store, client } = testStore(t)
    const one = client()
    const oom = /OOM command not allowed when used memory > 'maxmemory'\./
    await one.ask('SET', 'big', 'x'.repeat(10_000))
    store.config.maxmemory = 8192
    for (const args of [['SET', 'a', 'b'], ['HSET', 'h', 'a', 'b'], ['XADD', 's', '*', 'a', 'b'], ['HINCRBY', 'h', 'n', '1']])
      assert.match(await one.ask(...args), oom)
    assert.match(await one.ask('EVAL', 'return redis.call("SET", "a", "b")', '0'), oom)
    assert.equal(await one.ask('EVAL', 'redis.call("EXPIRE", "big", "60") return redis.call("SET", "a", "b")', '0'), '+OK\r\n')
    assert.equal(await one.ask('GET', 'a'), '$1\r\nb\r\n')
    assert.equal(await one.ask('DEL', 'big'), ':1\r\n')
    assert.equal(await one.ask('SET', 'a', 'b'), '+OK\r\n')
  })

  it('connections: one too many is refused', async (t) => {
    const { store, client } = testStore(t)
    store.config.maxclients = 1
    const one = client()
    const another = client()
    assert.equal(await another.until('\n'), '-ERR max number of clients reached\r\n')
    await another.closed
    one.stream.destroy()
    await waitFor(() => store.connections.size === 0)
    assert.equal(await client().ask('PING'), '+PONG\r\n')
  })

  it('output: a subscriber that does not read is closed at 32 MB, at 8 MB after a minute', async (t) => {
    const { clock, store, client } = testStore(t)
    for (const [megabytes, pause] of [[32, 0], [9, 61_000]]) {
      const subscriber = client()
      await subscriber.ask('HELLO', '3')
      await subscriber.ask('SUBSCRIBE', 'c')
      subscriber.stream.pause()
      const publisher = client()
      for (let i = 1; i < megabytes; i++) await publisher.ask('PUBLISH', 'c', 'x'.repeat(MEGABYTE))
      assert.equal(store.pubsub.count('channels', 'c'), 1, 'it may be slow for a while')
      clock.stall(pause)
      await publisher.ask('PUBLISH', 'c', 'x'.repeat(MEGABYTE))
      assert.equal(store.pubsub.count('channels', 'c'), 0)
      assert.equal(store.connections.size, 1)
      publisher.stream.destroy()
      await waitFor(() => store.connections.size === 0)
    }
  })

  it('output: a client that asks and does not read is closed at 256 MB', async (t) => {
    const { store, client } = testStore(t)
    const one = client()
    await one.ask('SET', 'big', 'x'.repeat(16 * MEGABYTE))
    one.stream.pause()
    for (let i = 0; i < 18; i++) one.stream.write(request('GET', 'big'))
    await waitFor(() => store.connections.size === 0)
  })

  it('input: after a protocol error the connection ends, and earlier requests are answered', async (t) => {
    const { client } = testStore(t)
    const one = client()
    one.stream.write('*1\r\n$4\r\nPING\r\n*1\r\nPING\r\n')
    await one.closed
    assert.equal(one.received, '+PONG\r\n-ERR Protocol error: expected \'$\', got \'P\'\r\n')
  })

  it('scripts: the oldest of more than 1,000 goes', async (t) => {
    const { client } = testStore(t)
    const one = client()
    const first = (await one.ask('SCRIPT', 'LOAD', 'return 0')).slice(5, 45)
    for (let i = 1; i < 1000; i++) one.stream.write(request('SCRIPT', 'LOAD', `return ${i}`))
    await one.ask('PING')
    assert.equal(await one.ask('EVALSHA', first, '0'), ':0\r\n')
    await one.ask('SCRIPT', 'LOAD', 'return 1000')
    assert.equal(await one.ask('EVALSHA', first, '0'), '-NOSCRIPT No matching script. Please use EVAL.\r\n')
  })
})

describe('connections', () => {
  it('wait while the store is paused, and go on in their order', async (t) => {
    const { clock, store, client } = testStore(t)
    const [one, other] = [client(), client()]
    other.stream.write(request('CLIENT', 'PAUSE', '1000'))
    assert.equal(await other.until('\n'), '+OK\r\n')
    one.stream.write(Buffer.concat([request('HINCRBY', 'h', 'n', '1'), request('HINCRBY', 'h', 'n', '1')]))
    await waitFor(() => [...store.connections].some(({ unparsed }) => unparsed > 0))
    clock.advance(999)
    assert.equal(one.received, '')
    clock.advance(1)
    assert.equal(await one.until(':2\r\n'), ':1\r\n:2\r\n')
  })

  it('are killed by id and by type, and their subscriptions end', async (t) => {
    const { store, client } = testStore(t)
    const [one, subscriber, other] = [client(), client(), client()]
    await subscriber.ask('HELLO', '3')
    await subscriber.ask('SSUBSCRIBE', 'c')
    await other.ask('CLIENT', 'SETNAME', 'other')
    assert.equal(await one.ask('CLIENT', 'KILL', 'TYPE', 'pubsub'), ':1\r\n')
    await subscriber.closed
    assert.equal(store.pubsub.count('shards', 'c'), 0)
    const id = /id=(\d+) name=other /.exec(await one.ask('CLIENT', 'LIST'))?.[1] ?? ''
    assert.equal(await one.ask('CLIENT', 'KILL', 'ID', id), ':1\r\n')
    await other.closed
  })

  it('get an error for what the store does not have: no command and no option of Redis is ignored', async (t) => {
    const { client } = testStore(t)
    const one = client()
    await one.ask('HSET', 'h', 'a', 'b')
    for (const args of LACKED) assert.match(await one.ask(...args.split(' ')), /^-ERR /, args)
    assert.equal(await one.ask('KEYS', '*'), '*1\r\n$1\r\nh\r\n')
  })
})
