/**
 * CPU costs in a handshake: token verification, session ids, and decoding, checking and counting between a client's
 * CONNECT packet and the response to its `doc:join`. Optimized parts are next to those of the library.
 */
import { createSecretKey } from 'node:crypto'
import { createSigner, createVerifier } from 'fast-jwt'
import jsonwebtoken from 'jsonwebtoken'
import { pino } from 'pino'
import { Decoder } from 'socket.io-parser'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createAuthenticator } from '../../src/people/auth/authenticator.js'
import { decoderFor } from '../../src/transport/socketio/decoder.js'
import { authSchema } from '../../src/gateway/handshake-auth.js'
import { parseInput } from '../../src/gateway/handlers/input.js'
import { schema as joinSchema } from '../../src/gateway/handlers/join.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { runBenchmarks } from './run.js'

const SECRET = 'a secret for benchmarks, of more than 32 characters'
/** More than any token cache holds. */
const TOKENS = 20_000

const sign = createSigner({ key: SECRET, algorithm: 'HS256', expiresIn: 3_600_000 })
const tokens = Array.from({ length: TOKENS }, (_, i) => sign({ sub: `user-${i}`, name: `User ${i}` }))
const key = createSecretKey(Buffer.from(SECRET))
const authenticator = createAuthenticator({
  settings: { secret: SECRET }, log: pino({ level: 'silent' }), clock: systemClock, random: systemRandom
})
await authenticator.start()
const fastJwt = createVerifier({ key: SECRET, algorithms: ['HS256'], cache: false })
const newId = createSessionIds(1, { clock: systemClock, random: systemRandom })
let next = 0
const anotherToken = () => tokens[next++ % TOKENS]
const metrics = createMetrics({ processMetrics: false })
const auth = { token: tokens[0] }
const join = { guid: 'document-1' }
const packets = [`0${JSON.stringify(auth)}`, `20${JSON.stringify(['doc:join', join])}`]
const OwnDecoder = decoderFor(0, systemClock)

/** @param {any} decoder of a new connection */
function decode (decoder) {
  decoder.on('decoded', () => {})
  for (const packet of packets) decoder.add(packet)
}

await runBenchmarks('Parts of a handshake', {
  'token seen before': () => authenticator.authenticate(tokens[0]),
  'token verified': () => authenticator.authenticate(anotherToken()),
  'fast-jwt alone': () => fastJwt(anotherToken()),
  'jsonwebtoken, KeyObject': () => jsonwebtoken.verify(anotherToken(), key, { algorithms: ['HS256'] }),
  'jsonwebtoken, string secret': () => jsonwebtoken.verify(anotherToken(), SECRET, { algorithms: ['HS256'] }),
  'session id': () => newId(),
  'CONNECT and doc:join decoded': () => decode(new OwnDecoder()),
  'socket.io-parser': () => decode(new Decoder()),
  'arguments checked': () => parseInput(authSchema, auth) && parseInput(joinSchema, join),
  'event counted': () => metrics.client_events.count('doc:join', 'ok'),
  'prom-client\'s inc': () => metrics.client_events.inc({ event: 'doc:join', result: 'ok' })
})
