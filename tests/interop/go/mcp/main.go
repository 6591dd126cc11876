// The official Go client lists and calls tools, follows a task of the Tasks extension to its result,
// and is refused.
//
// mcp FILE, in which {"url", "node", "task", "result"} are; prints what it got as JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
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
	URL    string         `json:"url"`
	Node   string         `json:"node"`
	Task   map[string]any `json:"task"`
	Result map[string]any `json:"result"`
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
	begun := session.InitializeResult()
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"server":   begun.ServerInfo.Name,
		"version":  begun.ProtocolVersion,
		"tools":    names,
		"state":    state.StructuredContent,
		"refusal":  refused.StructuredContent,
		"refused":  refused.IsError,
		"statuses": append(statuses, task.Status),
		"outcome":  task.Result["structuredContent"],
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
