import { useCallback, useEffect, useRef } from 'react'

/**
 * Listens to a signal of others who have the document open, and sends one to them.
 *
 * @template {object} Signals
 * @template {keyof Signals & string} E
 * @param {import('inkcast-client').Document<any, any, Signals> | null} doc of useDocument
 * @param {E} event
 * @param {(data: Signals[E], meta: import('inkcast-client').Meta) => void} [listener] may be a new function in each
 *   render
 * @returns {(data: Signals[E], options?: { combine?: boolean | undefined }) => boolean} sends a signal; false: it was
 *   not sent (no connection, or the client may not signal)
 */
export function useSignal (doc, event, listener) {
  const latest = useRef(listener)
  useEffect(() => { latest.current = listener })
  useEffect(
    () => doc?.on(/** @type {any} */ (event), (/** @type {any} */ data, /** @type {any} */ meta) =>
      latest.current?.(data, meta)),
    [doc, event]
  )
  return useCallback((data, options) => doc?.signal(event, data, options) ?? false, [doc, event])
}
