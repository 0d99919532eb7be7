// Agent: a model is asked until it has an answer. It may call tools, it may refuse, and all
// calls together may cost so much and no more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/sqlite"
)

// tools are what the model may use.
var tools = map[string]Tool{
	"count": func(_ context.Context, input string) (string, error) {
		fmt.Printf("tool: counting %q\n", input)
		return fmt.Sprint(len(strings.Fields(input)), " words"), nil
	},
}

func main() {
	id := flag.String("id", "task-1", "the task's `id`")
	url := flag.String("url", "", "the model's `address`; a scripted one of this program's own if empty")
	budget := flag.Int("budget", 100, "what the calls may cost, in `cents`")
	flag.Parse()
	if *url == "" {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		*url = "http://" + listener.Addr().String()
		go http.Serve(listener, newScript(
			line{model: "large", reply: Reply{Tool: "count", Input: "a loom weaves threads", Cents: 4}},
			line{model: "large", refuse: true, reply: Reply{Cents: 2}},
			line{model: "small", reply: Reply{Text: "It has four words.", Cents: 1}},
		))
	}

	ctx := context.Background()
	agent := NewAgent(client{*url, http.DefaultClient}, tools)
	rt, err := loom.Open(ctx, sqlite.Open("agent.db"), loom.Flows(agent))
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	run, err := agent.Start(ctx, rt, Task{
		Question: "How many words has this: a loom weaves threads",
		Models:   []string{"large", "small"},
		Cents:    *budget,
	}, loom.ID(*id))
	if errors.Is(err, loom.ErrAlreadyExists) {
		fmt.Println(*id, "was begun before: going on with it")
		run, err = loom.Attach[Answer](rt, *id)
	}
	if err != nil {
		log.Fatal(err)
	}
	answer, err := run.Result(ctx)
	if err != nil {
		fmt.Println("no answer:", err)
		return
	}
	fmt.Printf("%s (%d calls, %d cents)\n", answer.Text, answer.Calls, answer.Cents)
}
