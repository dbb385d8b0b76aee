import assert from 'node:assert/strict'
import { runBlock } from './code-blocks.js'
import { asyncStorage } from './phone.js'
import { waitFor } from './wait.js'

/**
 * The JavaScript of docs/phones.md, with modules in place of the native ones.
 * @param {{ load: (specifier: string) => Promise<any> }} parts
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export const phoneScenarios = ({ load }) => ({
  'docs/phones.md: { AppState, NetInfo, AsyncStorage }': async (code, t) => {
    const stored = new Map()
    const events = { addEventListener: () => Object.assign(() => {}, { remove () {} }) }
    /** @type {Record<string, unknown>} */
    const modules = {
      'react-native': { AppState: events },
      '@react-native-community/netinfo': { default: events },
      '@react-native-async-storage/async-storage': { default: asyncStorage(stored) }
    }
    /** @type {unknown[]} */
    const printed = []
    const { client, doc } = await runBlock(
      code, { console: { log: printed.push.bind(printed) } }, async (specifier) => modules[specifier] ?? load(specifier)
    )
    t.after(() => client.close())
    await waitFor(() => printed.length === 1 && doc.pending.length + stored.size === 0, { message: () => printed })
    assert.deepEqual(printed, [{ text: 'from a phone' }])
  }
})
