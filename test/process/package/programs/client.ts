import { connect, ClientError, type Client, type Document, type Member, type Position } from 'inkcast-client'

export async function main (): Promise<void> {
  const client: Client = connect('http://localhost:3000', {
    token: async (why) => why === 'refused' ? 'new' : 'old',
    storage: sessionStorage
  })
  client.on('state', (state, reason) => { if (state === 'refused') console.log(reason?.code) })
  const doc: Document = await client.open('minutes', { position: { epoch: 'e', offset: 1 }, state: { color: 'red' } })
  const off: () => void = doc.on('message', (payload, { epoch, offset, from }) => {
    console.log(payload, epoch?.length, offset?.toFixed(), from?.length)
  })
  doc.on('resync', async ({ reason }) => { await fetch('/documents/minutes?' + reason) })
  doc.on('presence', ({ joined, left }) => { console.log(joined.map(({ uid }) => uid), left.length) })
  const members: Member[] = [...doc.presence.values()]
  const position: Position | null = doc.position
  await doc.send({ text: 'hello' }, { event: 'edit', timeout: 1000 })
  // @ts-expect-error a state has fields
  doc.setState('red')
  // @ts-expect-error there is no such state
  if (client.state === 'online') off()
  // @ts-expect-error internal
  doc._emit('message', [])
  if (new Error() instanceof ClientError) console.log(members, position)
}
