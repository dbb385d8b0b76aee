/** Types of inkcast-publisher, checked by `npm run lint:types`: a line under `@ts-expect-error` must be an error. */
import { InkcastError, Publisher, verifyWebhook, type ErrorCode, type Publication } from 'inkcast-publisher'

async function publish (): Promise<void> {
  const inkcast = new Publisher({ url: 'http://localhost:3001', token: async () => 'secret', deadlineMs: undefined })
  const { position, traceId } = await inkcast.publish('minutes', { text: 'x' }, { event: 'edit', key: 'a', except: ['b'] })
  const publications: Publication[] = [{ guid: 'minutes', value: 1 }, { operator: 'user', uid: 'ada', value: new Uint8Array() }]
  for (const result of await inkcast.batch(publications)) {
    // @ts-expect-error perhaps an error
    console.log(result.traceId)
    const code: ErrorCode | undefined = result.ok ? undefined : result.error.code
    console.log(code)
  }
  const { connections } = await inkcast.ban('ada', 60)
  console.log((position?.offset ?? 0) + connections, traceId.length)
  // @ts-expect-error a document has no log of a user
  await inkcast.publish('minutes', 1, { keep: true })
  // @ts-expect-error a misspelt option
  await inkcast.publish('minutes', 1, { evnt: 'edit' })
  // @ts-expect-error no such code
  if (new InkcastError('bad_request', 'x').code === 'bad') console.log(verifyWebhook('whsec_', new Headers(), '[]').length)
}

void publish()
