import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../../src/config/load.js'

/** @param {string} text */
const read = (text) => loadConfig({ env: { ALLOWED_ORIGINS: text } }).gateway.allowedOrigins

/** @param {string} text @returns {string} the problem */
function problem (text) {
  try {
    return assert.fail(`${text} is accepted as ${read(text)}`)
  } catch (error) {
    return /** @type {Error} */ (error).message
  }
}

const SCHEMES = [['https', ':443'], ['http', ':80'], ['capacitor', '']]
const HOSTS = ['app.example.com', 'localhost', '127.0.0.1', '[::1]']

test('an origin is read in each form that people write, as browsers send it', () => {
  let cases = 0
  for (const [scheme, defaultPort] of SCHEMES) {
    for (const host of HOSTS) {
      for (const port of ['', ':8443', defaultPort]) {
        const expected = `${scheme}://${host}${port === defaultPort ? '' : port}`
        for (const form of [(/** @type {string} */ text) => text, (/** @type {string} */ text) => text.toUpperCase()]) {
          for (const end of ['', '/']) {
            assert.deepEqual(read(form(`${scheme}://${host}${port}`) + end), [expected])
            cases++
          }
        }
      }
    }
  }
  assert.equal(cases, 144)
  assert.deepEqual(read('https://bücher.example'), ['https://xn--bcher-kva.example'])
  assert.deepEqual(read('*'), ['*'])
  assert.deepEqual(read('https://*.example.com/, http://*.a.b.example:80'), ['https://*.example.com', 'http://*.a.b.example'])
  assert.deepEqual(read('https://*.team.vercel.app,https://*.example.co.uk'), ['https://*.team.vercel.app', 'https://*.example.co.uk'])
  assert.deepEqual(read(' https://a.example , http://b.example/,'), ['https://a.example', 'http://b.example'])
})

test('what no browser ever sends is refused at the start, with the remedy', () => {
  for (const [text, remedy] of /** @type {[string, RegExp][]} */ ([
    ['app.example.com', /begin with its scheme, as https:/],
    ['app.example.com:443', /begin with its scheme/],
    ['//app.example.com', /begin with its scheme/],
    ['https:app.example.com', /begin with its scheme/],
    ['*.example.com', /begin with its scheme, as https:/],
    ['*://*.example.com', /begin with its scheme/],
    ['//*.example.com', /begin with its scheme/],
    ['https://*', /must name your domain, as https:\/\/\*\.example\.com/],
    ['https://*:8443', /must name your domain/],
    ['https://*.', /must name your domain/],
    ['https://*.com', /must name your domain/],
    ['http://*.localhost:5173', /must name your domain/],
    ['*.com', /begin with its scheme/],
    ['https://*.com.', /must be an origin/],
    ['https://*.example.com.', /must be an origin/],
    ['https://*..com', /must be an origin/],
    ['https://*.0.0.1', /must be an origin/],
    ['https://[*]', /must be an origin/],
    ['https://*.example.com:*', /must be an origin/],
    ['https://*.*.com', /one \*, which stands for whole labels/],
    ['https://*example.com', /one \*, which stands for whole labels/],
    ['https://**.example.com', /one \*, which stands for whole labels/],
    ['https://app-*.example.com', /one \*, which stands for whole labels/],
    ['https://app.*.example.com', /one \*, which stands for whole labels/],
    ['https://\uff0a', /must name your domain/],
    ['https://%2a.com', /must name your domain/],
    ['https://*.co.uk', /everybody can get a name below co\.uk: list your own/],
    ['https://*.Vercel.app', /everybody can get a name below vercel\.app/],
    ['https://*.up.railway.app', /everybody can get a name below up\.railway\.app/],
    ['capacitor://*.example.com', /a pattern must begin with https:/],
    ['chrome-extension://*', /a pattern must begin with https:/],
    ['https://*.example.com/board', /without a path/],
    ['https://*@example.com', /no user and no password/],
    ['https://app.example.com/board', /without a path/],
    ['https://app.example.com/?a', /without a path/],
    ['https://app.example.com#a', /without a path/],
    ['https://user:word@app.example.com', /no user and no password/],
    ['https://', /must be an origin/],
    ['https://a b', /must be an origin/],
    ['https://a.example,b.example', /begin with its scheme/]
  ])) assert.match(problem(text), remedy, text)
})
