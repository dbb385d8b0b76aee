import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressesOf, parseSentinelUrl, problemOfRedisUrl, splitRedisUrls } from '../../../src/config/redis-url.js'

describe('REDIS_URL', () => {
  test('is one URL, several of Redis Cluster, or one of Sentinel with commas', () => {
    assert.deepEqual(splitRedisUrls('redis://a:1'), ['redis://a:1'])
    assert.deepEqual(splitRedisUrls(' redis://a:1, redis://b:2,'), ['redis://a:1', 'redis://b:2'])
    assert.deepEqual(splitRedisUrls('redis+sentinel://a:1,b:2/m'), ['redis+sentinel://a:1,b:2/m'])
    assert.deepEqual(splitRedisUrls(''), [])
  })

  test('of Sentinel names the Sentinels, the master, the database and two users', () => {
    assert.deepEqual(parseSentinelUrl('redis+sentinel://one/main'), {
      tls: false, sentinels: [{ host: 'one', port: 26379 }], name: 'main', db: 0
    })
    assert.deepEqual(
      parseSentinelUrl('rediss+sentinel://ada:p%40s%3As@one:1,[::1]:2,10.0.0.3/my%2Fmain/7?sentinel_user=s&sentinel_password=a%26b'),
      {
        tls: true,
        sentinels: [{ host: 'one', port: 1 }, { host: '::1', port: 2 }, { host: '10.0.0.3', port: 26379 }],
        name: 'my/main', username: 'ada', password: 'p@s:s', sentinelUsername: 's', sentinelPassword: 'a&b', db: 7
      }
    )
    assert.equal(parseSentinelUrl('redis+sentinel://:a:b@one/main')?.password, 'a:b')
  })

  test('is refused with what is wrong, and without its password', () => {
    for (const url of [
      'redis+sentinel://one', 'redis+sentinel:///main', 'redis+sentinel://one/', 'redis+sentinel://one:99999/main',
      'redis+sentinel://one/main/x', 'redis+sentinel://one/main?password=secret', 'redis+sentinel://a@b@one/main',
      'redis+sentinel://one,/main'
    ]) assert.match(problemOfRedisUrl(url) ?? `${url} is accepted`, /^must be redis\+sentinel:\/\/host:port,/)
    for (const url of ['http://a', 'a:1', 'sentinel://a/b', 'unix://', 'unix://a/b', 'unix:///'])
      assert.match(problemOfRedisUrl(url) ?? `${url} is accepted`, /^must be a URL that starts with redis:\/\//)
    for (const userInfo of [':50%off', 'a%:b', ':%zz', ':%ff'])
      for (const scheme of ['redis', 'rediss', 'redis+sentinel'])
        assert.match(problemOfRedisUrl(`${scheme}://${userInfo}@one/1`) ?? `${userInfo} is accepted`, /^user and password: .*% as %25/)
    for (const url of ['redis://a/abc', 'redis://a/-1', 'redis://a/1/2', 'redis://a/1x'])
      assert.match(problemOfRedisUrl(url) ?? `${url} is accepted`, /^must end with the number of its database, as redis:\/\/host:6379\/1$/)
    for (const url of ['redis://a/', 'redis://:50%25off@a?family=6', 'redis://a', 'rediss://:p@a:1/3', 'redis+sentinel://:p@a,b/c', 'unix:///run/redis.sock'])
      assert.equal(problemOfRedisUrl(url), undefined)
  })

  test('is shown without users and passwords', () => {
    assert.equal(addressesOf(['redis://u:secret@a:1', 'redis://b:2']), 'a:1, b:2')
    assert.equal(addressesOf(['unix:///run/redis.sock']), '/run/redis.sock')
    assert.equal(
      addressesOf(['redis+sentinel://u:secret@a:1,[::1]/main?sentinel_password=secret']),
      'the master main of the Sentinels a:1, [::1]:26379'
    )
  })
})
