"""The fault proof: real servers and workers are killed, stopped, cut off and given wrong clocks while editors work.

A proof (`proof`) draws a plan of faults by a seed (`plan`, `faults`). Simulated editors (`newsroom`) and readers
(`readers`) use the system (`system`) during that time and write a history (`history`), as do a mail server and a CDN
(`outside`). A checker (`checker`, `timeline`) accounts for everything in it with the database's contents at the end
(`dump`). `mutants` lists the guards without which it must fail. Scenarios (`scenarios`, `script`) do what random
editors do too rarely. The other tests try one thing each.
"""
