"""The fault proof: real servers and workers are killed, stopped, cut off and given wrong clocks while editors work.

A proof (`proof`) draws a plan of faults by a seed (`plan`, `faults`). Simulated editors (`newsroom`) and readers
(`readers`) use the system (`system`) during that time and write a history (`history`). A checker (`checker`,
`timeline`) accounts for everything in it with the database's contents at the end (`dump`). `mutants` lists the guards
without which it must fail. The other tests try one thing each.
"""
