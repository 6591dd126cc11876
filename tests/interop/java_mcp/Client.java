// The official Java client lists and calls tools, gets the result of a SAP task, reads a resource,
// completes an argument, and is refused.  It waits for another task, and is told how that gets on.
//
// java -cp … Client.java FILE, in which {"url", "node", "task", "result", "waited", "results"} are;
// prints what it got as JSON.  It speaks 2025-11-25, which has no tasks: it sends the task again, and
// waits for its end.

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.CompleteRequest;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceRequest;
import io.modelcontextprotocol.spec.McpSchema.ResourceReference;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

public class Client {
    static final McpJsonMapper JSON = McpJsonDefaults.getMapper();

    public static void main(String[] args) throws Exception {
        Map<?, ?> order = JSON.readValue(Files.readString(Path.of(args[0])), Map.class);
        URI url = URI.create((String) order.get("url"));
        var transport = HttpClientStreamableHttpTransport
            .builder(url.getScheme() + "://" + url.getAuthority())
            .endpoint(url.getPath())
            .build();
        Map<String, Object> answers = new HashMap<>();
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        try (McpSyncClient client = McpClient
                .sync(transport)
                .requestTimeout(Duration.ofSeconds(60))
                .progressConsumer(progress -> told.add(progress.message()))
                .build()) {
            var begun = client.initialize();
            answers.put("server", begun.serverInfo().name());
            answers.put("version", begun.protocolVersion());
            answers.put("tools", client.listTools().tools().stream().map(t -> t.name()).toList());
            answers.put("state", state(client, order.get("node")).structuredContent());
            CallToolResult refusal = state(client, "apc:packet:none");
            answers.put("refused", refusal.isError());
            answers.put("refusal", refusal.structuredContent());
            Object first = send(client, "sap.tasks", order.get("task"), "verdict");
            send(client, "sap.results", order.get("result"), "verdict");
            Object last = send(client, "sap.tasks", order.get("task"), "outcome");
            answers.put("verdicts", List.of(member(first, "verdict"), member(last, "verdict")));
            answers.put("outcome", last);
            answers.put("resource", read(client, (String) order.get("node")));
            answers.put("completed", complete(client, "rule", "token_"));
            List<String> progress = new ArrayList<>();
            answers.put("waited", await(client, order, told, progress));
            answers.put("progress", progress);
        }
        System.out.println(JSON.writeValueAsString(answers));
    }

    static Object read(McpSyncClient client, String node) throws Exception {
        String uri = "headrace://node/" + URLEncoder.encode(node, StandardCharsets.UTF_8);
        var contents = client.readResource(ReadResourceRequest.builder(uri).build()).contents();
        return JSON.readValue(((TextResourceContents) contents.get(0)).text(), Map.class);
    }

    static List<String> complete(McpSyncClient client, String name, String value) {
        var reference = new ResourceReference("headrace://rule/{rule}");
        var argument = new CompleteRequest.CompleteArgument(name, value);
        var request = CompleteRequest.builder(reference, argument).build();
        return client.completeCompletion(request).completion().values();
    }

    /** Waits for a task, and sends a result whenever it is told that the task gets on. */
    static Object await(
            McpSyncClient client, Map<?, ?> order, BlockingQueue<String> told, List<String> progress)
            throws Exception {
        var request = CallToolRequest
            .builder("send")
            .arguments(sending("sap.tasks", order.get("waited"), "outcome"))
            .progressToken("waiting")
            .build();
        var waiting = CompletableFuture.supplyAsync(() -> client.callTool(request));
        for (Object result : (List<?>) order.get("results")) {
            progress.add(told.poll(50, TimeUnit.SECONDS));
            send(client, "sap.results", result, "verdict");
        }
        return waiting.get(50, TimeUnit.SECONDS).structuredContent();
    }

    static Object send(McpSyncClient client, String topic, Object envelope, String wait) {
        return call(client, "send", sending(topic, envelope, wait)).structuredContent();
    }

    static Map<String, Object> sending(String topic, Object envelope, String wait) {
        return Map.of("topic", topic, "envelope", envelope, "wait", wait, "wait_s", 50);
    }

    static CallToolResult state(McpSyncClient client, Object node) {
        return call(client, "state", Map.of("node", node));
    }

    static CallToolResult call(McpSyncClient client, String tool, Map<String, Object> arguments) {
        return client.callTool(CallToolRequest.builder(tool).arguments(arguments).build());
    }

    static Object member(Object object, String name) {
        return ((Map<?, ?>) object).get(name);
    }
}
