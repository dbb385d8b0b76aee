import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadConfig } from '../../../src/config/load.js'

/** @param {string} [text] */
const read = (text) => loadConfig({ env: text === undefined ? {} : { SOCKET_PATH: text } }).gateway.socketPath

/** @param {string} text @returns {string} the problem */
function problem (text) {
  try {
    return assert.fail(`${text} is accepted as ${read(text)}`)
  } catch (error) {
    return /** @type {Error} */ (error).message
  }
}

test('a path is read with or without the slashes at its ends', () => {
  assert.equal(read(), '/socket.io/')
  for (const path of ['realtime', 'live/v2', 'Socket.IO', 'a-b_c~d', 'v1.5', 'socket.io/team', 'healthy', 'x'])
    for (const [start, end] of [['/', '/'], ['/', ''], ['', '/'], ['', '']]) assert.equal(read(start + path + end), `/${path}/`)
})

test('a path that clients, proxies and servers may read differently is refused, with the remedy', () => {
  for (const text of ['/', '//']) assert.match(problem(text), /must have a name, as \/realtime\//, text)
  const parts = [
    '.', '..', '.well-known', '', 'a b', 'a%2fb', '%61', 'a?b', 'a#b', 'ä', 'a\\b', 'a:b', 'a@b', 'a;b', 'a*', 'a&b', 'a=b', 'a\nb'
  ]
  let cases = 0
  for (const part of parts) {
    for (const path of [`/${part}/x/`, `/x/${part}/`, `/x/${part}/y`, `//${part}`, `/${part}//`]) {
      assert.match(problem(path), /must be a path of letters, digits|must have a name/, path)
      cases++
    }
  }
  assert.equal(cases, 90)
  for (const url of ['https://gateway.example.com/realtime/', '//gateway/realtime/', 'C:/Program Files/Git/realtime/'])
    assert.match(problem(url), /must be a path of letters/, url)
})

test('a path at, above or below one that inkcast serves itself is refused', () => {
  const source = (/** @type {string} */ file) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
  const api = [...source('src/services/api/http/openapi.js').matchAll(/prefix: '(\/v1[^']+)/g)].map(([, path]) => path)
  const demo = [...source('packages/demo/server.js').matchAll(/(?:startsWith\('|=== '|\/\^\\)(\/[\w.]+\/?)/g)].map(([, path]) => path)
  const admin = [...source('src/operate/admin/server.js').matchAll(/path === '(\/[\w.]+)'/g)].map(([, path]) => path)
  assert.ok(api.length >= 4 && demo.length >= 5 && admin.length >= 7, `${api} ${demo} ${admin}`)
  const served = [
    ...api, ...demo.map((path) => path === '/docs' ? '/docs/' : path), ...admin,
    '/health', '/openapi.json', '/control/', '/vendor/', '/js/', '/css/'
  ]
  for (const [, first, folder] of served.map((path) => path.split('/'))) {
    const below = folder === undefined ? [] : [`/${first}/realtime/`]
    for (const path of [`/${first}`, `/${first}/`, first, `/${first.toUpperCase()}/`, ...below])
      assert.match(problem(path), /inkcast serves something else: choose another name/, path)
  }
})
