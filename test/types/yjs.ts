/** Types of inkcast-yjs, checked by `npm run lint:types`: a line under `@ts-expect-error` must be an error. */
import { connect } from 'inkcast-client'
import { InkcastProvider, type Snapshot, type Status } from 'inkcast-yjs'

/** Not imported: yjs has no types for CommonJS. */
type Doc = ConstructorParameters<typeof InkcastProvider>[2]

const open = (doc: Doc): InkcastProvider => new InkcastProvider(connect('http://localhost:3000'), 'minutes', doc, {
  load: async ({ guid, signal, position }): Promise<Snapshot> => {
    const answer = await fetch(`/documents/${guid}`, { signal })
    return { update: new Uint8Array(await answer.arrayBuffer()), position }
  },
  store: undefined,
  headers: () => ({ authorization: 'Bearer x' }),
  presenceFields: ['user'],
  interval: undefined
})
export async function use (doc: Doc): Promise<void> {
  const provider = open(doc)
  const status: Status = provider.status
  provider.on('status', (change) => { if (change.status === 'connected') console.log(status) })
  provider.on('sync', (isSynced) => console.log(isSynced === provider.synced))
  provider.awareness.setLocalStateField('user', { name: 'Ada' })
  await provider.whenSynced
  // @ts-expect-error a misspelt event
  provider.on('synk', () => {})
  // @ts-expect-error no such status
  if (provider.status === 'online') provider.destroy()
  console.log(new InkcastProvider(connect('http://localhost:3000'), 'minutes', doc))
  // @ts-expect-error neither a URL nor a function
  console.log(new InkcastProvider(connect('http://localhost:3000'), 'minutes', doc, { load: 1 }))
}
