import { createContext, createElement, useContext, useMemo, useSyncExternalStore } from 'react'
import { connect } from 'inkcast-client'
import { lasting } from 'inkcast-client/stores'

/** @typedef {import('inkcast-client').Client} Client */

/** @type {import('react').Context<Client | null | undefined>} */
const ClientContext = createContext(/** @type {Client | null | undefined} */ (undefined))

/**
 * Gives a client to the hooks below: one of yours, or one for a `url`, which is closed when the provider is gone.
 *
 * @param {object} props
 * @param {Client} [props.client]
 * @param {string} [props.url] of the gateway
 * @param {import('inkcast-client').ClientOptions} [props.options] of connect; those of the first render count
 * @param {import('react').ReactNode} [props.children]
 * @returns {import('react').ReactElement}
 */
export function InkcastProvider ({ client, url, options, children }) {
  const own = useMemo(() => lasting(() => {
    const made = url === undefined ? null : connect(url, options)
    return { snapshot: () => made, end: () => made?.close() }
    // a new object for each render must not make a new client
  }, /** @type {Client | null} */ (null)), [url])
  const made = useSyncExternalStore(own.subscribe, own.snapshot, own.before)
  return createElement(ClientContext.Provider, { value: client ?? made }, children)
}

/** @returns {Client | null} null on a server, and in the first render of a provider with a `url` */
export function useClient () {
  const client = useContext(ClientContext)
  if (client === undefined) throw new Error('the hooks of inkcast-react need an <InkcastProvider> above')
  return client
}
