/**
 * What every TLS listener of inkcast accepts: Mozilla's "intermediate" without DHE, whose keys cost a server the most.
 * Clients choose among the ciphers, because only they know whether their processor has AES.
 *
 * `sessionIdContext`: a ticket is accepted by listeners with the same one; Node's default depends on the command line.
 * https://wiki.mozilla.org/Security/Server_Side_TLS
 */
export const SECURE_OPTIONS = Object.freeze({
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305'
  ].join(':'),
  honorCipherOrder: false,
  sessionIdContext: 'inkcast',
  /** s; a ticket ends earlier when its key is rotated */
  sessionTimeout: 12 * 3600
})
