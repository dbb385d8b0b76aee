/**
 * The parts of a handshake that are computation: who a token stands for, and the ids of the session.
 */
import { createSecretKey } from 'node:crypto'
import { createSigner } from 'fast-jwt'
import jsonwebtoken from 'jsonwebtoken'
import { pino } from 'pino'
import { createAuthenticator } from '../../src/auth/authenticator.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { runBenchmarks } from './run.js'

const SECRET = 'a secret for benchmarks, of more than 32 characters'
/** More than any cache of tokens holds. */
const TOKENS = 20_000

const sign = createSigner({ key: SECRET, algorithm: 'HS256', expiresIn: 3_600_000 })
const tokens = Array.from({ length: TOKENS }, (_, i) => sign({ sub: `user-${i}`, name: `User ${i}` }))
const key = createSecretKey(Buffer.from(SECRET))
const authenticator = createAuthenticator({ settings: { secret: SECRET }, log: pino({ level: 'silent' }) })
await authenticator.start()
const newId = createSessionIds(1)
let next = 0
const anotherToken = () => tokens[next++ % TOKENS]

await runBenchmarks('Parts of a handshake', {
  'token seen before': () => authenticator.authenticate(tokens[0]),
  'token verified': () => authenticator.authenticate(anotherToken()),
  'jsonwebtoken, KeyObject': () => jsonwebtoken.verify(anotherToken(), key, { algorithms: ['HS256'] }),
  'jsonwebtoken, string secret': () => jsonwebtoken.verify(anotherToken(), SECRET, { algorithms: ['HS256'] }),
  'session id': () => newId()
})
