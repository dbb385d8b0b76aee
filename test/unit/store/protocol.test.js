import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Double, ErrorReply, MapReply, NULL_ARRAY, Push, SetReply, Status, Verbatim } from '../../../src/redis/store/resp/replies.js'
import { MAX_ARGUMENTS, MAX_LINE_BYTES, MAX_REQUEST_BYTES, ProtocolError,
  RequestParser } from '../../../src/redis/store/resp/request-parser.js'
import { encode } from '../../../src/redis/store/resp/writer.js'

/** @param {string} bytes */
const latin1 = (bytes) => Buffer.from(bytes, 'latin1')

/** @param {string[]} chunks @returns {string[][]} */
function parse (...chunks) {
  const parser = new RequestParser()
  const requests = []
  for (const chunk of chunks) {
    parser.push(latin1(chunk))
    for (let args = parser.next(); args !== undefined; args = parser.next()) requests.push(args)
  }
  return requests
}

const STREAM = '*2\r\n$4\r\nECHO\r\n$5\r\n\r\n\x00\xff$\r\n*0\r\n*-1\r\n*1\r\n$0\r\n\r\n'
const REQUESTS = [['ECHO', '\r\n\x00\xff$'], ['']]

describe('requests', () => {
  it('are the same, wherever their bytes are split', () => {
    assert.deepEqual(parse(STREAM), REQUESTS)
    assert.deepEqual(parse(...STREAM), REQUESTS)
    for (let i = 1; i < STREAM.length; i++) assert.deepEqual(parse(STREAM.slice(0, i), STREAM.slice(i)), REQUESTS, `${i}`)
  })

  it('are read one after the other from a pipeline, also when a long argument comes in many chunks', () => {
    const long = 'x'.repeat(300_000)
    const pipeline = '*1\r\n$4\r\nPING\r\n'.repeat(1000) + `*2\r\n$3\r\nGET\r\n$${long.length}\r\n${long}\r\n*1\r\n$4\r\nPING\r\n`
    const chunks = pipeline.match(/[^]{1,1000}/g) ?? []
    const requests = parse(...chunks)
    assert.equal(requests.length, 1002)
    assert.deepEqual(requests[1000], ['GET', long])
  })

  for (const [what, bytes, message] of [
    ['a count that is no number', '*a\r\n', 'invalid multibulk length'],
    ['too many arguments', `*${MAX_ARGUMENTS + 1}\r\n`, 'invalid multibulk length'],
    ['a count without an end', `*${'1'.repeat(MAX_LINE_BYTES + 1)}`, 'too big mbulk count string'],
    ['an argument without a header', '*1\r\nPING\r\n', 'expected \'$\', got \'P\''],
    ['a length that is no number', '*1\r\n$x\r\n', 'invalid bulk length'],
    ['a negative length', '*1\r\n$-1\r\n', 'invalid bulk length'],
    ['an argument that is too long', `*1\r\n$${MAX_REQUEST_BYTES + 1}\r\n`, 'invalid bulk length'],
    ['arguments that are too long together', `*2\r\n$1\r\na\r\n$${MAX_REQUEST_BYTES}\r\n`, 'invalid bulk length'],
    ['a length without an end', `*1\r\n$${'1'.repeat(MAX_LINE_BYTES + 1)}`, 'too big bulk count string'],
    ['an inline command', 'PING\r\n', 'expected \'*\', got \'P\'']
  ]) {
    it(`end the connection after ${what}`, () => {
      assert.throws(() => parse(bytes), (error) => error instanceof ProtocolError && error.message === message)
    })
  }
})

describe('replies', () => {
  /** @typedef {import('../../../src/redis/store/resp/replies.js').Reply} Reply */
  for (const [reply, resp2, resp3] of /** @type {[Reply, string, string?][]} */ ([
    ['a\r\n', '$3\r\na\r\n\r\n'],
    ['', '$0\r\n\r\n'],
    [5, ':5\r\n'],
    [-(2n ** 63n), ':-9223372036854775808\r\n'],
    [null, '$-1\r\n', '_\r\n'],
    [NULL_ARRAY, '*-1\r\n', '_\r\n'],
    [new Status('OK'), '+OK\r\n'],
    [new ErrorReply('ERR a\r\nb'), '-ERR a  b\r\n'],
    [['a', [1, null]], '*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n', '*2\r\n$1\r\na\r\n*2\r\n:1\r\n_\r\n'],
    [new MapReply(['a', 1]), '*2\r\n$1\r\na\r\n:1\r\n', '%1\r\n$1\r\na\r\n:1\r\n'],
    [new SetReply(['a']), '*1\r\n$1\r\na\r\n', '~1\r\n$1\r\na\r\n'],
    [new Push(['a']), '*1\r\n$1\r\na\r\n', '>1\r\n$1\r\na\r\n'],
    [new Verbatim('a'), '$1\r\na\r\n', '=5\r\ntxt:a\r\n'],
    ...[
      [0.1, '0.10000000000000001'], [1e20, '1e+20'], [123456789012345680, '1.2345678901234568e+17'],
      [12345678901234568, '12345678901234568'], [-Infinity, '-inf'], [1e-7, '9.9999999999999995e-08'], [-1.5, '-1.5'],
      [0.0001, '0.0001'], [1e17, '1e+17'], [5e-324, '4.9406564584124654e-324']
    ].map(([value, text]) => [new Double(Number(value)), `$${String(text).length}\r\n${text}\r\n`, `,${text}\r\n`])
  ])) {
    it(`are encoded: ${JSON.stringify(resp2)}`, () => {
      assert.equal(encode(reply, 2), resp2)
      assert.equal(encode(reply, 3), resp3 ?? resp2)
    })
  }
})
