import { strictObject } from '../../base/common/schema.js'

export const schema = strictObject({})

/** Answers a client that asks whether its connection is alive. */
export async function handle () {
  return {}
}
