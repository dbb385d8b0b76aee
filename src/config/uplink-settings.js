import { z } from 'zod'
import { block, list, text, url } from './setting.js'

export const uplink = block('Uplink', {
  UPLINK_URL: {
    as: 'url',
    type: url('https:', 'http:'),
    describe:
      'URL of a business service that gets messages of clients, life-cycle events and receipts by POST (docs/webhooks.md). With Kafka it gets those of the uplink topic. Default: no webhook. Without Kafka and `UPLINK_GROUPS`, messages then go straight to everyone who has the document open.'
  },
  UPLINK_SECRETS: {
    as: 'secrets',
    type: list().pipe(z.array(text())),
    default: '',
    secret: true,
    describe:
      'Secrets that sign these requests, comma separated: `whsec_` and base64 of 24 to 64 bytes. Each of them signs, so that they can be replaced one after the other. Required in production.'
  },
  UPLINK_GROUPS: {
    as: 'groups',
    type: list().pipe(z.array(z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be names of letters, digits, . _ -'))),
    default: '',
    describe:
      'Names of groups that read the uplink without Kafka over gRPC, comma separated. Messages are kept until each of them has read them.'
  }
})

/** @param {string} secret @returns {boolean} whether it is one as Standard Webhooks has them */
export function isSecret (secret) {
  const { length } = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return /^whsec_[A-Za-z0-9+/]+=*$/.test(secret) && length >= 24 && length <= 64
}
