"""Lineage of protocols: sums over counted packets for any filter, without reading the packets.

A **universe** is the set of packets that match a filter: all packets `("", "")`, those of one
session, of one run or of one project, e.g. `("run", "r1")`.  Each universe has its own rows, so
that a query with one filter, or none, reads only those:

| key                                            | value                                        |
|------------------------------------------------|----------------------------------------------|
| lineage packet, session_id, packet_id          | `Entry` of a packet (JSON), counted or not   |
| lineage protocol, universe, protocol_id        | `Sums`: all figures of a protocol            |
| lineage totals, universe                       | `Totals`: runs, tasks with transfers         |
| lineage mode, universe, transfer_mode          | transfers by mode (JSON)                     |
| lineage pairs, universe                        | `Pairs`: sums of correlations (JSON)         |
| lineage run, universe, [protocol_id], run_id   | packets and transfers there                  |
| lineage task, project, session, run, task      | evaluations and transfers of a task (JSON)   |
| lineage at / eval, universe, position          | key of the packet's row: log order           |
| lineage of, universe, protocol_id, position    | the same, of one protocol                    |
| lineage decisions, universe                    | sums over arbitrations (JSON)                |
| lineage decision, universe, position           | key of the decision                          |

Reasons: a summary needs every protocol's figures (for ranks, scores and baselines), and never a
packet.  So it scans `lineage protocol` of one universe: fixed rows of some 200 bytes next to each
other, of which 10,000 take a few milliseconds, however many packets they sum up.  An index by
rank would save that scan, but each packet would move its protocol in four of them and leave
tombstones just where queries begin to read.  Sums are integers (means of tasks in units of 10⁻⁹,
as in `apc.lineage`; scores as exact decimals), so a packet that is no longer counted subtracts
exactly what it added, and the order of facts does not matter.

Filters together scan the packets of the narrowest of their universes and sum up those that match,
in memory, with the same code.

All rows come from `apc.events` alone: all facts about a packet, and about the packets of its
task, are on one partition in order.  Rows and positions are written together, so each fact is
applied once, and a rebuilt view is equal.
"""
