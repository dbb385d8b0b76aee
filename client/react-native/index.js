/**
 * The client in React Native and Expo, which have no page: the app hands over the modules that say what happens to it.
 *
 *   const client = connect('https://gateway.example.com', { outbox: { user } }, { AppState, NetInfo, AsyncStorage })
 *
 * Reference: docs/phones.md
 */
import { connect as connectAnywhere } from '../index.js'
import { asyncStorageStore } from './async-storage.js'

export { asyncStorageStore }

/** @typedef {import('./async-storage.js').AsyncStorage} AsyncStorage */

/**
 * The parts of the modules that the client uses. The package depends on no version of them.
 *
 * @typedef {object} PhoneModules
 * @property {AppState | undefined} [AppState] of `react-native`: a return to the foreground checks the connection
 * @property {NetInfo | undefined} [NetInfo] of `@react-native-community/netinfo`: so does another network
 * @property {AsyncStorage | undefined} [AsyncStorage] of `@react-native-async-storage/async-storage`: keeps the edits
 *   of the outbox. Default: the outbox lasts as long as the app
 *
 * @typedef {object} AppState
 * @property {(event: 'change', listener: (state: string) => void) => { remove: () => void }} addEventListener
 *
 * @typedef {object} NetInfo
 * @property {(listener: (state: Network) => void) => () => void} addEventListener
 *
 * @typedef {object} Network
 * @property {string} type
 * @property {boolean | null} isConnected
 * @property {boolean | null} [isInternetReachable]
 */

/**
 * As `connect` of `inkcast-client`, for an app.
 *
 * @param {string} url URL of the gateway
 * @param {import('../index.js').ClientOptions} options
 * @param {PhoneModules} modules
 * @returns {import('../index.js').Client}
 * @throws {TypeError} if `url` is not a URL of http, https, ws or wss, or has a path
 */
export function connect (url, options, { AppState, NetInfo, AsyncStorage }) {
  const store = AsyncStorage && asyncStorageStore(AsyncStorage)
  const client = connectAnywhere(url, {
    ...options,
    ...(options.outbox && store && { outbox: { store, ...options.outbox } })
  })
  const app = AppState?.addEventListener('change', (state) => { if (state === 'active') client.check() })
  /** @type {string | undefined} */
  let before
  const stop = NetInfo?.addEventListener(({ type, isConnected, isInternetReachable }) => {
    const now = `${isConnected} ${type} ${isInternetReachable}`
    // attempts go on without a network, as in browsers: what it reports is no proof
    if (isConnected && before !== undefined && now !== before) client.check()
    before = now
  })
  client.on('state', (state) => {
    if (state !== 'closed') return
    app?.remove()
    stop?.()
  })
  return client
}
