// The official Go client lists and calls tools, follows a task of the Tasks extension to its result,
// reads a resource, completes an argument, and is refused.  Without the extension it waits for
// another task, and is told how that gets on.
//
// mcp FILE, in which {"url", "node", "task", "result", "waited", "results"} are; prints what it got as
// JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	extension = "io.modelcontextprotocol/tasks"
	getTask   = "tasks/get"
)

type order struct {
	URL     string           `json:"url"`
	Node    string           `json:"node"`
	Task    map[string]any   `json:"task"`
	Result  map[string]any   `json:"result"`
	Waited  map[string]any   `json:"waited"`
	Results []map[string]any `json:"results"`
}

type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type taskResult struct {
	mcp.ResultBase
	Status string         `json:"status"`
	Result map[string]any `json:"result"`
}

// tap keeps all answers as they came: the SDK drops the handle of a task from a tool's result.
type tap struct {
	mutex   sync.Mutex
	answers bytes.Buffer
}

func (t *tap) Write(part []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.answers.Write(part)
}

func (t *tap) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		body := response.Body
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(body, t), body}
	}
	return response, err
}

// handle returns the id of the task that the server has made.
func (t *tap) handle() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	match := regexp.MustCompile(`"taskId":"(t1\.[^"]*)"`).FindSubmatch(t.answers.Bytes())
	if match == nil {
		log.Fatal("the server has made no task")
	}
	return string(match[1])
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var asked order
	check(json.Unmarshal(text, &asked))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	capabilities := &mcp.ClientCapabilities{}
	capabilities.AddExtension(extension, nil)
	implementation := &mcp.Implementation{Name: "interop", Version: "1.0.0"}
	client := mcp.NewClient(implementation, &mcp.ClientOptions{Capabilities: capabilities})
	check(mcp.AddSendingCustomMethod[*taskParams, *taskResult](client, getTask))
	wire := &tap{}
	transport := &mcp.StreamableClientTransport{
		Endpoint:   asked.URL,
		HTTPClient: &http.Client{Transport: wire},
	}
	session, err := client.Connect(ctx, transport, nil)
	check(err)
	defer session.Close()
	call := func(name string, arguments map[string]any) *mcp.CallToolResult {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		result, err := session.CallTool(ctx, params)
		check(err)
		return result
	}
	names := []string{}
	for tool, err := range session.Tools(ctx, nil) {
		check(err)
		names = append(names, tool.Name)
	}
	state := call("state", map[string]any{"node": asked.Node})
	refused := call("state", map[string]any{"node": "apc:packet:none"})
	call("send", map[string]any{"topic": "sap.tasks", "envelope": asked.Task, "wait": "outcome"})
	id := wire.handle()
	follow := func() *taskResult {
		params := &taskParams{TaskID: id}
		task, err := mcp.CallCustomMethod[*taskParams, *taskResult](ctx, session, getTask, params)
		check(err)
		return task
	}
	statuses := []string{follow().Status}
	call("send", map[string]any{"topic": "sap.results", "envelope": asked.Result})
	task := follow()
	for ; task.Status == "working"; task = follow() {
		time.Sleep(200 * time.Millisecond)
	}
	read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{
		URI: "headrace://node/" + url.QueryEscape(asked.Node),
	})
	check(err)
	completed, err := session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "headrace://rule/{rule}"},
		Argument: mcp.CompleteParamsArgument{Name: "rule", Value: "token_"},
	})
	check(err)
	waited, progress := wait(ctx, asked, func(result map[string]any) {
		call("send", map[string]any{"topic": "sap.results", "envelope": result})
	})
	begun := session.InitializeResult()
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"server":    begun.ServerInfo.Name,
		"version":   begun.ProtocolVersion,
		"tools":     names,
		"state":     state.StructuredContent,
		"refusal":   refused.StructuredContent,
		"refused":   refused.IsError,
		"statuses":  append(statuses, task.Status),
		"outcome":   task.Result["structuredContent"],
		"resource":  json.RawMessage(read.Contents[0].Text),
		"completed": completed.Completion.Values,
		"waited":    waited.StructuredContent,
		"progress":  progress,
	}))
}

// wait sends a task by a client that knows no tasks, and sends a result whenever it is told that the
// task gets on.  It returns the answer, and what it was told.
func wait(
	ctx context.Context, asked order, send func(map[string]any),
) (*mcp.CallToolResult, []string) {
	told := make(chan string, 16)
	client := mcp.NewClient(
		&mcp.Implementation{Name: "interop-waiting", Version: "1.0.0"},
		&mcp.ClientOptions{
			ProgressNotificationHandler: func(
				_ context.Context, request *mcp.ProgressNotificationClientRequest,
			) {
				told <- request.Params.Message
			},
		},
	)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: asked.URL}, nil)
	check(err)
	defer session.Close()
	answered := make(chan *mcp.CallToolResult, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "send", Arguments: map[string]any{
			"topic": "sap.tasks", "envelope": asked.Waited, "wait": "outcome", "wait_s": 50,
		}}
		params.SetProgressToken("waiting")
		result, err := session.CallTool(ctx, params)
		check(err)
		answered <- result
	}()
	messages := []string{}
	for _, result := range asked.Results {
		messages = append(messages, <-told)
		send(result)
	}
	return <-answered, messages
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
