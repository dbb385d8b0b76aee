import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Requests } from '../../../client/shared/requests.js'
import { SharedTokens } from '../../../client/shared/tokens.js'

/** The requests of a tab, and what reaches the gateway. */
function tokensOfTabs () {
  const tab = /** @type {any} */ ({ connected: true })
  /** @type {any[][]} */
  const sent = []
  const tokens = new SharedTokens({ tabs: () => [tab], ask: () => {} })
  const connection = /** @type {any} */ ({
    request: async (/** @type {any[]} */ ...[event, argument]) => {
      sent.push([event, argument])
      return { ok: true, expiresAt: 7 }
    }
  })
  const requests = new Requests(/** @type {any} */ ({
    connection: () => connection, name: 'tabs', nameFor: async () => 'tabs', tokens
  }))
  return { tokens, sent, refresh: (/** @type {string} */ token) => requests.answer(tab, 'auth:refresh', { token }, true) }
}

test('a token that the page of a tab sends by itself reaches the gateway, whose answer it gets', async () => {
  const { sent, refresh } = tokensOfTabs()
  assert.deepEqual(await refresh('with a new right'), { ok: true, expiresAt: 7 })
  assert.deepEqual(sent, [['auth:refresh', { token: 'with a new right' }]])
})

test('a token that a tab was asked for is sent by the connection', async () => {
  const { tokens, sent, refresh } = tokensOfTabs()
  const asked = tokens.for('expiring')
  assert.deepEqual(await refresh('renewed'), { ok: true })
  assert.deepEqual([await asked, sent], ['renewed', []])
})
