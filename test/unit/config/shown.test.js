import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { test } from 'node:test'
import { checkSettings } from '../../../src/operate/cli/check/settings.js'
import { BLOCKS } from '../../../src/config/blocks.js'
import { readSettings } from '../../../src/config/load.js'
import { allowedOf } from '../../../src/config/setting.js'
import { shownSetting } from '../../../src/config/shown.js'

const WORD = 'hunter2hunter2'
/** A right value, wrong ones, and those that people write without percent-encoding. */
const URLS = ['https', 'http', 'redis', 'rediss', 'ftp', 'redis+sentinel'].flatMap((scheme) => [
  `${scheme}://user:${WORD}@host:1/path`, `${scheme}://user:${WORD}/x@host:1`, `${scheme}://user:a,${WORD}@host`, `${scheme}://user:${WORD},a@host`,
  `${scheme}://user:${WORD},a@b,c@host`, `${scheme}://user:a@host/m?token=a@${WORD}`, `${scheme}://user:a?b,${WORD}@host`,
  `${scheme}://user:${WORD}@ho st`, `${scheme}://:${WORD}@host:99999`, `${scheme}://${WORD}@host`,
  `${scheme}://host/?token=${WORD}`, `${scheme}://user:${WORD}@host,${scheme}://other:${WORD}@host`
])
/** Secrets, and settings in which a URL may stand. */
const settings = Object.values(BLOCKS)
  .flatMap((block) => Object.entries(
    /** @type {Record<string, import('../../../src/config/setting.js').Setting>} */ (block.settings)
  ))
  .filter(([, setting]) => setting.secret || /URL|origins|addresses/.test(allowedOf(setting).allowed ?? ''))

test('no password in a setting is in an error, a finding of inkcast check or what inkcast config shows', () => {
  let cases = 0
  for (const [name, { secret = false }] of settings) {
    for (const value of secret ? [...URLS, WORD, `name:${WORD}`] : URLS) {
      const read = readSettings({ env: { [name]: value } })
      const texts = [
        ...read.problems,
        inspect(checkSettings(read)),
        shownSetting(read.written[name].text, secret)
      ]
      assert.ok(!texts.join('\n').includes(WORD), `${name}=${value}\n${texts.join('\n')}`)
      cases++
    }
  }
  assert.ok(cases > 600, `${cases}`)
})

test('a URL with a user or password is refused for every service that is called over HTTP', () => {
  for (const name of ['UPLINK_URL', 'AUTH_ACCESS_URL', 'AUTH_JWKS_URL', 'KAFKA_SASL_TOKEN_SOURCE']) {
    for (const user of ['user:word', 'user', ':word'])
      assert.match(readSettings({ env: { [name]: `https://${user}@host/path` } }).problems.join(), /must have no user and no password/)
    assert.deepEqual(readSettings({ env: { [name]: 'https://host/@path' } }).problems.filter((text) => text.startsWith(`${name}=`)), [])
  }
})

test('a shown setting keeps what identifies it', () => {
  for (const [text, secret, shown] of /** @type {const} */ ([
    ['redis://user:word@host:6379/2', true, 'redis://********@host:6379/2'],
    ['redis://user:a,b@host:6379/2', true, 'redis://********@host:6379/2'],
    ['redis://user:a@one:1,redis://user:a@two:2', true, 'redis://********@two:2'],
    ['redis+sentinel://user:a@one:1,two:2/main?sentinel_password=a@b', true, 'redis+sentinel://********'],
    ['redis://host/2', true, 'redis://host/2'],
    ['redis://a:1,redis://b:2', true, 'redis://a:1,redis://b:2'],
    ['redis://host/secret', true, 'redis://host'],
    ['word', true, '********'],
    ['https://host/path', false, 'https://host/path'],
    ['https://host/@path', false, 'https://host/@path'],
    ['https://user:word@host/path', false, 'https://********@host/path'],
    ['https://host/path?token=word', false, 'https://host/path?********'],
    ['a@b,c', false, 'a@b,c']
  ])) assert.equal(shownSetting(text, secret), shown)
})
