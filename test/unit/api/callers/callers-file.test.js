import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { readCallers } from '../../../../src/services/api/callers/callers-file.js'
import { Book } from '../../../../src/services/api/callers/book.js'
import { digestOf } from '../../../../src/services/api/callers/credentials.js'
import { codeBlocks } from '../../../helpers/code-blocks.js'
import { keyPairFor } from '../../../helpers/tokens.js'

const TOKEN = '0123456789abcdef'
const sha256 = (/** @type {string} */ token) => createHash('sha256').update(token).digest('hex')
const pem = keyPairFor('ES256').publicKey.export({ type: 'spki', format: 'pem' }).toString()
const privatePem = keyPairFor('ES256').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** @type {Record<string, string>} */
const FILES = {
  '/etc/inkcast/token': 'token-in-a-file-16\n',
  '/run/secrets/token': 'another-token-in-a-file',
  '/etc/inkcast/short': 'short',
  '/etc/inkcast/key.pem': pem,
  '/etc/inkcast/private.pem': privatePem,
  '/etc/inkcast/secret': `${'s'.repeat(32)}\n`
}

/** @param {unknown} content an object, or the text itself */
const read = (content) => readCallers({
  text: typeof content === 'string' ? content : JSON.stringify(content),
  folder: '/etc/inkcast',
  readText: async (path) => FILES[path] ?? Promise.reject(new Error(`${path}: ENOENT`)),
  own: [{ digest: digestOf('token-of-legacy-16'), entry: { name: 'legacy' } }],
  keySetAt: (url) => /** @type {any} */ ({ url })
})

/** @param {object} [more] */
const editor = (more = {}) => ({ name: 'editor', tokens: [{ text: TOKEN }], operators: ['broadcast'], ...more })

test('tokens are given as text, as hash or in a file, relative to the callers file', async () => {
  const contents = await read({
    callers: [
      editor(),
      { name: 'billing', tokens: [{ sha256: sha256('a-token-nobody-sees') }, { file: 'token' }], operations: ['*'] },
      { name: 'other', tokens: [{ file: '/run/secrets/token' }], operators: ['*'], rate: { perSecond: 100 } }
    ]
  })
  const book = new Book(contents)
  for (const [token, name] of /** @type {[string, string | undefined][]} */ ([
    [TOKEN, 'editor'],
    ['a-token-nobody-sees', 'billing'],
    ['token-in-a-file-16', 'billing'],
    ['another-token-in-a-file', 'other'],
    [sha256('a-token-nobody-sees'), undefined],
    ['', undefined]
  ])) assert.equal(book.byToken(digestOf(token))?.name, name, token)
  assert.deepEqual(contents.entries.map(({ rate }) => rate), [undefined, undefined, { perSecond: 100, burst: 100 }])
})

test('certificates are recognized by attributes of the subject, all of them, or by an alternative name', async () => {
  const book = new Book(await read({
    callers: [
      { name: 'editor', certificates: [{ subject: { O: 'Example', CN: 'editor' } }], operators: ['*'] },
      { name: 'billing', certificates: [{ san: 'URI:spiffe://example.org/billing' }], operators: ['*'] }
    ]
  }))
  for (const [expected, subject, subjectaltname] of /** @type {[string | undefined, any, string | undefined][]} */ ([
    ['editor', { O: 'Example', CN: 'editor', C: 'FR' }, undefined],
    ['billing', { CN: 'x' }, 'DNS:a.example, URI:spiffe://example.org/billing'],
    [undefined, { CN: 'editor' }, undefined],
    [undefined, { O: 'Example', CN: ['editor', 'other'] }, undefined],
    [undefined, { O: 'Example', CN: 'editor2' }, undefined],
    [undefined, {}, 'URI:spiffe://example.org/billing/x'],
    // as node:tls writes a name that contains a comma
    [undefined, {}, 'URI:"http://evil.example/, URI:spiffe://example.org/billing, x"'],
    [undefined, {}, undefined]
  ])) {
    const name = book.byCertificate({ subject, subjectaltname })?.name
    assert.equal(name, expected, JSON.stringify([subject, subjectaltname]))
  }
})

test('the subject of a token names a caller of its issuer only', async () => {
  const issuers = ['https://a.example', 'https://b.example'].map((issuer) =>
    ({ issuer, audience: 'inkcast', claim: 'azp', publicKeyFile: 'key.pem' }))
  const contents = await read({
    issuers,
    callers: [
      { name: 'editor', jwt: [{ issuer: 'https://a.example', subject: 'svc' }], operators: ['*'] },
      { name: 'billing', jwt: [{ issuer: 'https://b.example', subject: 'svc' }], operators: ['*'] }
    ]
  })
  const book = new Book(contents)
  const key = /** @type {any} */ (contents.issuers.get('https://a.example')?.key)
  const named = (/** @type {object} */ claims) =>
    book.byJwt({ key, source: key.name, claims: { aud: 'inkcast', ...claims }, expiresAt: 0 })?.name
  assert.equal(named({ iss: 'https://a.example', azp: 'svc' }), 'editor')
  assert.equal(named({ iss: 'https://b.example', azp: 'svc' }), 'billing')
  assert.equal(named({ iss: 'https://c.example', azp: 'svc' }), undefined)
  assert.equal(named({ iss: 'https://a.example', sub: 'svc' }), undefined)
  assert.equal(named({ iss: 'https://a.example', azp: 'svc', aud: ['other'] }), undefined)
  assert.equal(named({ iss: 'https://a.example', azp: ['svc'] }), undefined)
})

test('every wrong part is named', async () => {
  const caller = (/** @type {object} */ more) => ({ callers: [editor(more)] })
  const issuer = (/** @type {object} */ more) => ({
    callers: [],
    issuers: [{ issuer: 'https://a.example', audience: 'inkcast', ...more }]
  })
  for (const [content, message] of /** @type {[unknown, string | RegExp][]} */ ([
    ['', 'it is not JSON'],
    ['{"callers": [', /^it is not JSON/],
    ['[]', 'must be an object'],
    [{}, 'callers: is missing'],
    [{ callers: {} }, 'callers: must be an array'],
    [{ callers: [], other: 1 }, 'has an unknown field "other"'],
    [{ callers: [editor(), 5] }, /^caller number 2: /],
    [caller({ name: 'a b' }), 'caller "a b": name: must have 1 to 64 letters, digits, dots, hyphens or underscores'],
    [caller({ name: 'client' }), 'caller "client": name: must not be one of client, local'],
    [caller({ name: 'webhook' }), /^caller "webhook": is the service at UPLINK_URL: it has operators, guids, uids and rates/],
    [caller({ name: 'legacy' }), 'caller "legacy": API_TOKENS has this name too, with all rights; take it out there'],
    [
      caller({ tokens: [{ sha256: sha256('token-of-legacy-16') }] }),
      'caller "editor": API_TOKENS has its token too, as "legacy" with all rights; give each its own'
    ],
    [{ callers: [editor(), editor()] }, 'caller "editor": it is there twice'],
    [caller({ tokens: [] }), 'caller "editor": has no credential: give it tokens, certificates or jwt'],
    [caller({ tokens: [{}] }), 'caller "editor": tokens.0: must have exactly one of text, sha256, file'],
    [caller({ tokens: [{ text: TOKEN, file: 'x' }] }), 'caller "editor": tokens.0: must have exactly one of text, sha256, file'],
    [caller({ tokens: [{ text: 'short' }] }), 'caller "editor": a token must have at least 16 characters, ASCII without spaces'],
    [caller({ tokens: [{ text: 'with a space in it' }] }), /ASCII without spaces/],
    [caller({ tokens: [{ file: 'short' }] }), 'caller "editor": a token in short must have at least 16 characters, ASCII without spaces'],
    [caller({ tokens: [{ file: 'none' }] }), '/etc/inkcast/none: ENOENT'],
    [caller({ tokens: [{ sha256: 'abc' }] }), 'caller "editor": tokens.0.sha256: must be 64 hexadecimal digits'],
    [{ callers: [editor(), { ...editor(), name: 'b', tokens: [{ sha256: sha256(TOKEN) }] }] }, 'callers "editor" and "b" have the same ' +
    'token'],
    [caller({ certificates: [{ subject: {} }] }), 'caller "editor": certificates.0.subject: is empty'],
    [caller({ certificates: [{ san: 'editor' }] }), /certificates.0.san: must begin with DNS:/],
    [caller({ operators: undefined }), 'caller "editor": may do nothing: give it operators or operations ("*" for all)'],
    [caller({ operators: ['brodcast'] }), /^caller "editor": operators.0: must be one of \*, broadcast, user/],
    [caller({ operations: ['histroy'] }), /^caller "editor": operations.0: must be one of \*, events, /],
    [caller({ operations: ['kickUser'] }), 'caller "editor": operations.0: kickUser publishes: allow its operator in "operators"'],
    [caller({ guids: [''] }), 'caller "editor": guids.0: must not be empty'],
    [caller({ guid: ['a'] }), 'caller "editor": has an unknown field "guid"'],
    [caller({ rate: { perSecond: 0 } }), 'caller "editor": rate.perSecond: must be at least 0.01'],
    [caller({ rate: {} }), 'caller "editor": rate.perSecond: is missing'],
    [caller({ rates: { fly: { perSecond: 1 } } }), /^caller "editor": rates.fly: must be one of .*broadcast/],
    [caller({ rates: { history: {} } }), /^caller "editor": rates.history.perSecond: /],
    [caller({ jwt: [{ subject: 'svc' }] }), 'caller "editor": jwt: name the issuer, there is not exactly one'],
    [caller({ jwt: [{ subject: 'svc', issuer: 'x' }] }), 'caller "editor": jwt: "x" is not in issuers'],
    [issuer({}), 'issuer "https://a.example": must have exactly one of jwksUrl, publicKeyFile, secretFile'],
    [issuer({ jwksUrl: 'ftp://a' }), /^issuer "https:\/\/a.example": jwksUrl: must be a URL/],
    [issuer({ audience: undefined, jwksUrl: 'https://a.example' }), 'issuer "https://a.example": audience: is missing'],
    [issuer({ audience: [5], jwksUrl: 'https://a.example' }), 'issuer "https://a.example": audience: must be a string, or an array of ' +
    'strings, of 1 to 1,024 characters'],
    [issuer({ publicKeyFile: 'private.pem' }), /^issuer "https:\/\/a.example": publicKeyFile: holds a private key/],
    [issuer({ secretFile: 'short' }), /^issuer "https:\/\/a.example": secretFile: the secret must have at least 32/]
  ])) await assert.rejects(read(content), typeof message === 'string' ? { message } : { message }, JSON.stringify(content))
})

test('no message shows a credential', async () => {
  for (const content of [
    `{"callers": [{"name": "a", "tokens": [{"text": "${TOKEN}" }}`,
    `"${TOKEN}"`,
    { callers: [{ name: 'a', tokens: [TOKEN], operators: ['*'] }] },
    { callers: [{ name: 'a', tokens: [{ text: [TOKEN] }], operators: ['*'] }] },
    { callers: [{ name: 'a', tokens: [{ sha256: TOKEN }], operators: ['*'] }] },
    { callers: [{ name: 'a', tokens: [{ text: `${TOKEN} ` }], operators: ['*'] }] }
  ]) {
    await assert.rejects(read(content), (/** @type {Error} */ error) => {
      assert.doesNotMatch(`${error.stack} ${error.cause}`, new RegExp(TOKEN.slice(0, 6)))
      return true
    })
  }
})

test('the file in docs/callers.md is a correct one', async () => {
  const { code } = /** @type {{ code: string }} */ (
    codeBlocks().find(({ file, language }) => file === 'docs/callers.md' && language === 'json')
  )
  FILES['/run/secrets/editor-token'] = 'a-token-of-the-editor'
  const contents = await read(code)
  assert.deepEqual(contents.entries.map(({ name }) => name), ['editor', 'notifications', 'billing'])
})
