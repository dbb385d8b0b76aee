import { InkcastProvider, useConnection, useDocument } from 'inkcast-react'
import { useState } from 'react'
import { Button, FlatList, Text, TextInput, View } from 'react-native'
import { client } from './client'

type Events = { message: { text: string } }

export default function App () {
  return <InkcastProvider client={client}><List guid='list' /></InkcastProvider>
}

function List ({ guid }: { guid: string }) {
  const [text, setText] = useState('')
  const { state } = useConnection()
  const { data: items, doc, error, pending } = useDocument<Events, {}, {}, string[]>(guid, {
    initial: [],
    last: 100,
    offline: true,
    reduce: (before, { event, payload }) => event === 'message' ? [...before, payload.text] : before
  })

  function add () {
    doc?.send({ text }, { queue: true }).catch((refusal: Error) => console.warn(refusal.message))
    setText('')
  }

  return (
    <View style={{ flex: 1, padding: 48 }}>
      <Text>{error?.message ?? state}, {pending.length} not sent yet</Text>
      <FlatList data={items} keyExtractor={(_, i) => String(i)} renderItem={({ item }) => <Text>{item}</Text>} />
      <TextInput value={text} onChangeText={setText} placeholder='text' />
      <Button title='Add' onPress={add} disabled={doc === null} />
    </View>
  )
}
