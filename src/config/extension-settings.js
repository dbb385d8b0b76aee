import { block, list, text } from './setting.js'

export const extensions = block('Extensions', {
  EXTENSIONS: {
    as: 'modules',
    type: list(),
    default: '',
    describe:
      'Modules with Socket.IO code of the application, comma separated: paths (`./chat.js`) or installed packages. Each gateway worker ' +
      'loads them ([extensions](extensions.md)). An extension reads its own settings from `EXTENSION_<NAME>_…`.'
  },
  ROOMS_CHANNEL_PREFIX: {
    as: 'channelPrefix',
    type: text(),
    derived: ({ redisPrefix }) => `${redisPrefix}:rooms`,
    defaultText: '`inkcast:rooms` (`REDIS_PREFIX`, then `:rooms`)',
    describe:
      'Prefix of the Redis channels of Socket.IO rooms, `channelPrefix` of `@socket.io/redis-adapter`. Other Socket.IO servers with the ' +
      'same prefix (their default is `socket.io`) share the rooms. They need the `subscriptionMode` of inkcast: `static` with a ' +
      'prefix that starts with `inkcast:` (with `REDIS_PREFIX` and a colon), and their default, `dynamic`, with any other.'
  },
  EMITTER_KEY: {
    as: 'emitterKey',
    type: text(),
    describe:
      '`key` of `@socket.io/redis-emitter`, or of Socket.IO servers with the classic Redis adapter (their default is `socket.io`). ' +
      'Clients of inkcast then get the messages of these programs as well. Not set: inkcast does not listen to them.'
  }
})
