import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createDocsSite } from '../../../packages/demo/docs-site.js'
import * as inkcast from '../../../src/operate/roles/demo-parts.js'
import { startEmbedded } from '../../helpers/embedded.js'

/** @param {import('node:test').TestContext} t @param {string} site @returns {Promise<string>} address */
async function serve (t, site) {
  const server = createServer(createDocsSite(inkcast, site)).listen(0)
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://localhost:${/** @type {import('net').AddressInfo} */ (server.address()).port}`
}

test('/docs has the pages of the Markdown files, and the site as soon as it is built', async (t) => {
  const site = `${mkdtempSync(join(tmpdir(), 'inkcast-site-'))}/`
  t.after(() => rmSync(site, { recursive: true }))
  const url = await serve(t, site)
  for (const path of ['/docs/client.html', '/docs/client', '/docs/client.md', '/docs/']) {
    const before = await fetch(url + path)
    const text = await before.text()
    assert.deepEqual([before.status, /^<!doctype html>/.test(text)], [200, true], path)
    for (const [, link] of text.matchAll(/(?:href|src)="(\/docs\/[^"#]+)"/g)) assert.equal((await fetch(url + link)).status, 200, link)
  }
  assert.match(await (await fetch(`${url}/docs/how-to/test-your-page.html`)).text(), /<a href="\.\.\/demo\.md#break-it">/)
  assert.equal((await fetch(`${url}/docs/images/demo-page.webp`)).headers.get('content-type'), 'image/webp')
  for (const path of [
    '/docs/nothing.html', '/docs/%2e%2e/package.html', '/docs/..%2fREADME.md', '/docs/images/', '/docs/images/..%2f..%2fpackage.json',
    '/docs/look/', '/docs/look/..%2f..%2fpackage.json', '/docs/internals/decisions/', '/docs/.vitepress/config.js', '/docs/images/%00'
  ]) assert.equal((await fetch(url + path)).status, 404, path)

  for (const page of ['index', 'client', '404']) writeFileSync(`${site}${page}.html`, `<h1>${page}</h1>`)
  for (const [path, status, text] of /** @type {const} */ ([
    ['/docs/', 200, 'index'], ['/docs', 200, 'index'], ['/docs/client.html', 200, 'client'], ['/docs/client', 200, 'client'],
    ['/docs/nothing.html', 404, '404'], ['/docs/../../package.json', 404, undefined]
  ])) {
    const answer = await fetch(url + path)
    const body = await answer.text()
    if (text === undefined) assert.doesNotMatch(body, /dependencies/, path)
    else assert.deepEqual([answer.status, body], [status, `<h1>${text}</h1>`], path)
    const policy = answer.headers.get('content-security-policy') ?? ''
    if (text !== undefined) assert.match(policy, /^default-src 'self'; /, path)
    assert.doesNotMatch(policy, /unsafe/)
  }
})

test('a gateway in development has /docs, one in production has not', async (t) => {
  const development = await startEmbedded(t)
  // built or not
  const answer = await fetch(`${development.url}/docs/`)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(await answer.text(), /inkcast/)
  assert.doesNotMatch(await (await fetch(`${development.url}/docsother`)).text(), /inkcast/)

  const production = await startEmbedded(t, {
    NODE_ENV: 'production', API_TOKENS: 'editor:0123456789abcdef', AUTH_JWT_SECRET: 'x'.repeat(64)
  })
  for (const path of ['/docs', '/docs/', '/docs/client.html'])
    assert.equal((await fetch(production.url + path)).status, 404, path)
})
