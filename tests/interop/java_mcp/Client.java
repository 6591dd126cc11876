// The official Java client lists and calls tools, gets the result of a SAP task, and is refused.
//
// java -cp … Client.java FILE, in which {"url", "node", "task", "result"} are; prints what it got as
// JSON.  It speaks 2025-11-25, which has no tasks: it sends the task again, and waits for its end.

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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
        try (McpSyncClient client =
                McpClient.sync(transport).requestTimeout(Duration.ofSeconds(60)).build()) {
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
        }
        System.out.println(JSON.writeValueAsString(answers));
    }

    static Object send(McpSyncClient client, String topic, Object envelope, String wait) {
        Map<String, Object> arguments =
            Map.of("topic", topic, "envelope", envelope, "wait", wait, "wait_s", 50);
        return call(client, "send", arguments).structuredContent();
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
