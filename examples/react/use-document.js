import { useEffect, useRef, useState } from 'react'

/**
 * Opens a document while the component is mounted, and calls `onMessage` with each record.
 * @returns the document, null until it is open
 */
export function useDocument (client, guid, onMessage) {
  const [doc, setDoc] = useState(null)
  const newest = useRef(onMessage)
  useEffect(() => { newest.current = onMessage })
  useEffect(() => {
    const opening = client.open(guid, { echo: true })
    opening.then((opened) => {
      opened.on('message', (payload, meta) => newest.current(payload, meta))
      setDoc(opened)
    }, (error) => console.error(`${guid} cannot be opened: ${error.message}`))
    return () => { opening.then((opened) => opened.close(), () => {}) } // even if it is not open yet
  }, [client, guid])
  return doc?.guid === guid ? doc : null
}
