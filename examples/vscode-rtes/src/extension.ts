// The command "headrace: Follow a Session": an output channel that shows a session as it goes on.
import * as vscode from "vscode";
import { follow, type Follower } from "./follow";
import { Renderer } from "./render";

const followers = new Map<string, Follower>();

export function activate(context: vscode.ExtensionContext): void {
  const command = vscode.commands.registerCommand("headrace.follow", async () => {
    const session = await vscode.window.showInputBox({ prompt: "Session" });
    if (session) {
      show(session, context);
    }
  });
  context.subscriptions.push(command);
}

function show(session: string, context: vscode.ExtensionContext): void {
  followers.get(session)?.close();
  const channel = vscode.window.createOutputChannel(`headrace ${session}`);
  const settings = vscode.workspace.getConfiguration("headrace");
  const token = settings.get<string>("token", "");
  const key = `cursor:${session}`;
  const cursor = context.workspaceState.get<string>(key);
  const renderer = new Renderer();
  channel.show(true);
  const follower = follow({
    gateway: settings.get<string>("gateway", "http://127.0.0.1:8080"),
    session,
    ...(token === "" ? {} : { token }),
    ...(cursor === undefined ? {} : { cursor }),
    onRecord(record, id) {
      for (const line of renderer.lines(record)) {
        channel.appendLine(line);
      }
      void context.workspaceState.update(key, id);
    },
    onStatus(text) {
      void vscode.window.setStatusBarMessage(`headrace: ${text}`, 5000);
    },
  });
  followers.set(session, follower);
  context.subscriptions.push(channel, { dispose: () => follower.close() });
}

export function deactivate(): void {
  for (const follower of followers.values()) {
    follower.close();
  }
  followers.clear();
}
