// Prints the records of a document, over a plain WebSocket (docs/websocket.md).
//
//	go run . 'ws://localhost:3000/websocket/handshake?id=display-1' greenhouse
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

type position struct {
	Epoch  string `json:"epoch"`
	Offset int    `json:"offset"`
}

type message struct {
	ID      int
	Event   string
	Payload json.RawMessage
	Meta    struct {
		GUID   string
		Offset *int
	}
}

var last position // of the last record: a new connection continues there

func main() {
	for {
		err := follow(context.Background(), os.Args[1], os.Args[2])
		fmt.Println("connection:", err)
		// refused, or replaced by another connection with this id
		if websocket.CloseStatus(err) == websocket.StatusPolicyViolation {
			return
		}
		time.Sleep(time.Second + rand.N(4*time.Second))
	}
}

// follow prints records until the connection ends.
func follow(ctx context.Context, url, guid string) error {
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{"inkcast.json"}})
	if err != nil {
		return err
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go ping(ctx, ws)
	for {
		var m message
		if err := wsjson.Read(ctx, ws, &m); err != nil {
			return err
		}
		var answer struct {
			OK       bool
			Position position
		}
		switch {
		case m.Event == "gateway:connected":
			payload := map[string]any{"guid": guid}
			if last.Epoch != "" {
				payload["position"] = last
			} else {
				last.Offset = 0
			}
			if err := wsjson.Write(ctx, ws, map[string]any{"id": 1, "event": "doc:join", "payload": payload}); err != nil {
				return err
			}
		case m.ID == 1, m.Event == "doc:resync": // after a resync load the document from your service
			if err := json.Unmarshal(m.Payload, &answer); err != nil {
				return err
			}
			if m.ID == 1 && !answer.OK {
				return fmt.Errorf("the document was refused: %s", m.Payload)
			}
			if m.ID == 1 {
				answer.Position.Offset = max(answer.Position.Offset, last.Offset)
			}
			last = answer.Position
		case m.Meta.GUID == guid && (m.Meta.Offset == nil || *m.Meta.Offset > last.Offset):
			if m.Meta.Offset != nil {
				last.Offset = *m.Meta.Offset
			}
			fmt.Println(string(m.Payload))
		}
	}
}

// ping ends a connection that is dead.
func ping(ctx context.Context, ws *websocket.Conn) {
	for ctx.Err() == nil {
		waiting, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := ws.Ping(waiting)
		cancel()
		if err != nil {
			ws.CloseNow()
			return
		}
		time.Sleep(20 * time.Second)
	}
}
