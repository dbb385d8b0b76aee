import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectClient, createClient } from '../../helpers/clients.js'
import { codeBlocks } from '../../helpers/code-blocks.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { lacksDjango, startDjango } from '../../helpers/python-django.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET } from '../../helpers/webhook-service.js'

/** docs/tutorials/own-session.md: the part with Django; test/browser/tutorials.test.js has the rest. */

test('a session of Django logs in, until it ends', { skip: await lacksDjango() }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [view, ...others] = codeBlocks().filter(({ file, language }) =>
    file === 'docs/tutorials/own-session.md' && language === 'python')
  assert.equal(others.length, 0)
  writeFileSync(join(folder, 'django_connect.py'), view.code)
  const django = await startDjango(t, { folder, secret: SECRET })
  // also its first request, which takes longest
  const unsigned = await fetch(django.url, { method: 'POST', body: JSON.stringify({ headers: { cookie: `sessionid=${django.cookie}` } }) })
  assert.deepEqual([unsigned.status, await unsigned.json()], [401, { error: 'wrong signature' }])
  const { url, gateway } = await startEmbedded(t, { AUTH_CONNECT_URL: django.url, UPLINK_SECRETS: SECRET })

  const from = (/** @type {string} */ cookie) => ({ extraHeaders: { cookie } })
  // a busy machine may answer too late
  await waitFor(() => connectClient(t, url, from(`csrftoken=x; sessionid=${django.cookie}`)))
  const [{ identity: { uid, name, expiresAt } }] = gateway.directory.all()
  assert.deepEqual([uid, name], [django.pk, 'ada'])
  assert.ok(Number(expiresAt) > Date.now())

  /** @param {string} cookie */
  const refusalOf = (cookie) => waitFor(async () => {
    const [{ data }] = /** @type {any[]} */ (await createClient(t, url, from(cookie)).next('connect_error'))
    return data.code !== 'unavailable' && data
  })
  const refusal = { code: 'no_session', retryable: false }
  assert.deepEqual(await refusalOf(''), refusal)
  assert.deepEqual(await refusalOf('sessionid=of-nobody'), refusal)
  await django.run('client.logout()')
  assert.deepEqual(await refusalOf(`sessionid=${django.cookie}; again=1`), refusal)
})
