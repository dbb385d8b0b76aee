import { block, list, listOf, url } from './setting.js'

export const uplink = block('Uplink', {
  UPLINK_URL: {
    as: 'url',
    type: url('https:', 'http:'),
    describe:
      'URL of a business service that gets messages of clients, life-cycle events and receipts by POST (docs/webhooks.md). With Kafka ' +
      'they come from the uplink topic. If `UPLINK_URL`, `KAFKA_BROKERS` and `UPLINK_GROUPS` are all unset, messages of clients go ' +
      'straight to everyone who has the document open.'
  },
  UPLINK_SECRETS: {
    as: 'secrets',
    type: list(),
    default: '',
    secret: true,
    describe:
      'Secrets that sign the requests to `UPLINK_URL` and `AUTH_CONNECT_URL`, comma separated: `whsec_` and base64 of 24 to 64 bytes. ' +
      'Each secret signs each request, so that you can replace a secret without a failed request. Required in production if one of the ' +
      'two is set.'
  },
  UPLINK_GROUPS: {
    as: 'groups',
    type: listOf((name) => /^[A-Za-z0-9._-]{1,64}$/.test(name), 'must be names of letters, digits, . _ -'),
    default: '',
    describe:
      'Without Kafka: names of the groups of services that read messages of clients over gRPC, comma separated. inkcast keeps a message ' +
      'until every group has read it (docs/grpc.md). With Kafka it has no effect: groups may have any name.'
  }
})

/** @param {string} secret @returns {boolean} whether it is one as Standard Webhooks has them */
export function isSecret (secret) {
  const { length } = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return /^whsec_[A-Za-z0-9+/]+=*$/.test(secret) && length >= 24 && length <= 64
}
