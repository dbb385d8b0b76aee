import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { preview } from '../../simulation/world/preview.js'
import { Trace } from '../../simulation/world/trace.js'

const redis = { name: 'redis', machine: { name: 'redis' }, pid: 1 }
const page = { name: 'page-1', machine: { name: 'page-1' }, pid: 2 }

/** @param {Trace} trace that gets one of each event */
function fill (trace) {
  trace.started(0, redis)
  trace.started(0, page)
  trace.turn(1, page, 'timer')
  const message = trace.sent(1, page, redis, Buffer.from('PING'))
  if (message !== undefined) message.until = 2
  trace.turn(2, redis, 'bytes')
  trace.bytes(Buffer.from('PING'))
  trace.fault(3, '0: redis is paused', redis)
  trace.held(3, redis, 'pause')
  trace.held(4, redis, 'resume')
  trace.note(5, 'warn: a line', redis)
  trace.violation(6, 'a record is missing')
  trace.ended(7, redis, null)
}

describe('the trace of a world', () => {
  test('keeps events for a diagram, and lines for people', () => {
    const trace = new Trace(true)
    fill(trace)
    const { processes, events, dropped } = trace.story
    assert.deepEqual(events.map(({ type }) => type),
      ['start', 'start', 'turn', 'message', 'turn', 'fault', 'pause', 'resume', 'note', 'violation', 'end'])
    assert.deepEqual(events.find(({ type }) => type === 'message'),
      { type: 'message', at: 1, until: 2, from: 'page-1', to: 'redis', kind: 'bytes', bytes: 4, text: 'PING' })
    assert.deepEqual(processes, [
      { name: 'redis', machine: 'redis', begin: 0, end: 7 }, { name: 'page-1', machine: 'page-1', begin: 0, end: null }
    ])
    assert.equal(dropped, 0)
    assert.deepEqual(trace.lines.filter((line) => /FAULT|VIOLATION/.test(line)),
      ['3.000 * FAULT redis 0: redis is paused', '6.000 * VIOLATION a record is missing'])
  })

  test('has the same hash without them', () => {
    const [kept, quiet] = [new Trace(true), new Trace(false)]
    fill(kept)
    fill(quiet)
    assert.equal(quiet.hash, kept.hash)
    assert.deepEqual([quiet.lines, quiet.story], [[], { processes: [], events: [], dropped: 0 }])
  })

  test('keeps a bounded number of events: the newest before a violation, and some that follow it', () => {
    const trace = new Trace(true)
    for (let i = 0; i < 400_000; i++) trace.turn(i, page, 'timer')
    trace.violation(400_000, 'no')
    for (let i = 0; i < 400_000; i++) trace.turn(400_001 + i, page, 'timer')
    const { events, dropped } = trace.story
    const violation = events.findIndex(({ type }) => type === 'violation')
    assert.ok(violation >= 100_000 && events.length - violation > 50_000 && events.length < 300_000)
    assert.equal(events.length + dropped, 800_001)
    assert.ok(trace.lines.length < 300_000)
  })
})

describe('the beginning of a message', () => {
  const masked = Buffer.concat([Buffer.from([0x81, 0x85, 1, 2, 3, 4]), Buffer.from('hello').map((byte, i) => byte ^ (1 + i % 4))])
  for (const [name, bytes, text] of /** @type {[string, Buffer | string, string][]} */ ([
    ['a command of Redis', '*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n42\r\n', 'SET a 42 '],
    ['a script of Redis', `*4\r\n$7\r\nevalsha\r\n$40\r\n${'a'.repeat(40)}\r\n$1\r\n1\r\n$1\r\nk\r\n`, 'evalsha k '],
    ['an answer of Redis', '+OK\r\n', '+OK'],
    ['a request', 'GET /a HTTP/1.1\r\nhost: b\r\n\r\n', 'GET /a HTTP/1.1 ·'],
    ['a response', 'HTTP/1.1 200 OK\r\na: b\r\n\r\nbody', 'HTTP/1.1 200 OK ·body'],
    ['a frame of a server', Buffer.concat([Buffer.from([0x81, 5]), Buffer.from('hello')]), 'hello'],
    ['a frame of a client', masked, 'hello'],
    ['a ping', Buffer.from([0x89, 0]), 'ping'],
    ['other bytes', Buffer.from([0xff, 0x01, 0x41, 0x00]), '·A·'],
    ['no bytes', Buffer.alloc(0), ''],
    ['much text', 'x'.repeat(1000), 'x'.repeat(100)]
  ])) test(name, () => assert.equal(preview(Buffer.from(bytes)), text))
})
